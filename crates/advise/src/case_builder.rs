//! Cases built by hand for tests: true rates and true speeds in, [`Facts`] as they are read from a case out.

use std::collections::BTreeMap;

use machine::{CpuSet, Missing, Neighbour, Setting};
use probe::Observation;
use probe::observation::{Counter, ThreadSeen};
use study::arm::each_cpu_in_turn;
use study::case::Resolved;
use study::evidence::weigh;
use study::{Direction, Facts, Recipe, Seen, Trial};

/// A row's rate per second on `watched` while the server runs on `server`; `None` when it cannot be read there.
type Rate = Box<dyn Fn(Option<u32>, u32) -> Option<f64>>;

struct TrueRow {
    probe: &'static str,
    name: &'static str,
    label: &'static str,
    unit: &'static str,
    rate: Rate,
}

/// A study in the making.
pub struct CaseBuilder {
    cpus: u32,
    speed: BTreeMap<u32, f64>,
    rows: Vec<TrueRow>,
    as_found: Vec<Setting>,
    neighbours: Vec<Neighbour>,
    interrupt_cost_ns: Option<f64>,
    /// How often the server sleeps of its own will, 1/s, by its CPU.
    sleeps: Option<Box<dyn Fn(Option<u32>) -> f64>>,
    missing: Vec<Missing>,
    latency: bool,
}

/// A finished study of four CPUs, of which CPU 0 is slow because packets are steered onto it.
pub fn steered() -> Facts {
    CaseBuilder::of_cpus(4)
        .slow(0, 0.5)
        .softirq_share(|server, cpu| if server == Some(0) && cpu == 0 { 0.5 } else { 0.0 })
        .net_rx(|_, cpu| if cpu == 0 { 20_000.0 } else { 100.0 })
        .found("rps-cpus", "eth0/rx-0", "0")
        .build()
}

impl CaseBuilder {
    /// A machine with this many CPUs, all alike, on which nothing is counted.
    pub fn of_cpus(cpus: u32) -> Self {
        Self {
            cpus,
            speed: BTreeMap::new(),
            rows: Vec::new(),
            as_found: Vec::new(),
            neighbours: Vec::new(),
            interrupt_cost_ns: None,
            sleeps: None,
            missing: Vec::new(),
            latency: false,
        }
    }

    /// The server on `cpu` has this share of the speed that it has elsewhere.
    pub fn slow(mut self, cpu: u32, speed: f64) -> Self {
        self.speed.insert(cpu, speed);
        self
    }

    /// A row of `interrupts` by server CPU and watched CPU, 1/s.
    pub fn irq(
        self,
        name: &'static str,
        label: &'static str,
        rate: impl Fn(Option<u32>, u32) -> f64 + 'static,
    ) -> Self {
        self.row("interrupts", name, label, "events", rate)
    }

    /// Softirq time as a share of the CPU.
    pub fn softirq_share(self, share: impl Fn(Option<u32>, u32) -> f64 + 'static) -> Self {
        self.row("stat", "softirq", "", "us", move |server, cpu| share(server, cpu) * 1e6)
    }

    /// NET_RX softirqs, 1/s.
    pub fn net_rx(self, rate: impl Fn(Option<u32>, u32) -> f64 + 'static) -> Self {
        self.row("softirqs", "NET_RX", "", "events", rate)
    }

    /// Any row.
    pub fn row(
        self,
        probe: &'static str,
        name: &'static str,
        label: &'static str,
        unit: &'static str,
        rate: impl Fn(Option<u32>, u32) -> f64 + 'static,
    ) -> Self {
        self.row_where_known(probe, name, label, unit, move |server, cpu| Some(rate(server, cpu)))
    }

    /// Any row, which some CPUs may not have.
    pub fn row_where_known(
        mut self,
        probe: &'static str,
        name: &'static str,
        label: &'static str,
        unit: &'static str,
        rate: impl Fn(Option<u32>, u32) -> Option<f64> + 'static,
    ) -> Self {
        self.rows.push(TrueRow { probe, name, label, unit, rate: Box::new(rate) });
        self
    }

    /// A setting as it was found.
    pub fn found(mut self, knob: &str, target: &str, value: &str) -> Self {
        self.as_found.push(Setting { knob: knob.into(), target: target.into(), value: value.into() });
        self
    }

    /// A neighbour in every arm.
    pub fn neighbour(mut self, command: &str, cpus: &str) -> Self {
        self.neighbours.push(Neighbour { command: command.into(), cpus: CpuSet::from_list(cpus).unwrap() });
        self
    }

    /// What one interrupt was measured to cost.
    pub fn interrupt_cost_ns(mut self, ns: f64) -> Self {
        self.interrupt_cost_ns = Some(ns);
        self
    }

    /// How often the server sleeps of its own will, 1/s, by its CPU.
    pub fn sleeping(mut self, per_s: impl Fn(Option<u32>) -> f64 + 'static) -> Self {
        self.sleeps = Some(Box::new(per_s));
        self
    }

    /// A reason that every observation gives.
    pub fn missing(mut self, fact: &str, why: &str) -> Self {
        self.missing.push(Missing::new(fact, why));
        self
    }

    /// The deciding figure is a latency: less is better.
    pub fn in_latency(mut self) -> Self {
        self.latency = true;
        self
    }

    /// The case, with evidence weighed from its trials.
    pub fn build(&self) -> Facts {
        let all: CpuSet = (0..self.cpus).collect();
        let mut arms = each_cpu_in_turn(&all, &all, None).unwrap();
        for arm in &mut arms {
            arm.placement.neighbours = self.neighbours.clone();
        }
        let mut recipe = Recipe::from_toml("", "test").unwrap();
        if self.latency {
            (recipe.metric, recipe.better) = ("p99_us".into(), Some(Direction::Lower));
        }
        let blocks = study::design::fewest_blocks(self.cpus as usize, recipe.precision.alpha) + 1;
        let mut trials = Vec::new();
        for block in 0..blocks {
            for (position, arm) in arms.iter().enumerate() {
                // Small differences without ties; the same in every run.
                let noise = ((block * 31 + position * 17) % 13) as f64 * 0.0005;
                // That of the server's CPU, wherever the load is.
                let cpu = arm.placement.server_cpus.as_ref().and_then(CpuSet::first);
                let speed = cpu.and_then(|cpu| self.speed.get(&cpu)).copied().unwrap_or(1.0);
                let speed = speed * arm.placement.dose.as_ref().map_or(1.0, |dose| 1.0 - dose.share());
                let speed = 10_000.0 * speed * (1.0 + noise);
                let figure = if self.latency { 1e6 / speed } else { speed };
                let trial = Trial {
                    index: trials.len(),
                    block,
                    position,
                    arm: arm.name.clone(),
                    figures: BTreeMap::from([(recipe.metric.clone(), figure)]),
                    ..Trial::default()
                };
                trials.push(Seen { trial, observation: Some(self.observe(arm.cpu)) });
            }
        }
        let only: Vec<Trial> = trials.iter().map(|s| s.trial.clone()).collect();
        let evidence = weigh(&arms, &only, &recipe.question());
        Facts {
            study: Resolved {
                format: 1,
                pinwise: "test".into(),
                made_unix_s: 0,
                command: Vec::new(),
                order: Vec::new(),
                boots: None,
                string_rounds: None,
                recipe,
                arms,
                stages: Vec::new(),
                found: None,
                added: Vec::new(),
            },
            machine: machine::Machine::default(),
            as_found: self.as_found.clone(),
            trials,
            observed: Vec::new(),
            evidence,
            interrupt_cost_ns: self.interrupt_cost_ns,
            screening: None,
            paths: Vec::new(),
            proofs: Vec::new(),
            missing: Vec::new(),
        }
    }

    fn observe(&self, server: Option<u32>) -> Observation {
        let window_s = 2.0;
        let mut observation = Observation {
            to_ns: (window_s * 1e9) as u64,
            missing: self.missing.clone(),
            threads: self.sleeps.iter().map(|sleeps| slept(sleeps(server) * window_s)).collect(),
            ..Observation::default()
        };
        for row in &self.rows {
            let by_cpu: BTreeMap<u32, u64> = (0..self.cpus)
                .filter_map(|cpu| Some((cpu, ((row.rate)(server, cpu)? * window_s).round() as u64)))
                .collect();
            if by_cpu.is_empty() {
                continue;
            }
            if by_cpu.values().all(|n| *n == 0) {
                observation.still.push(format!("{}/{}", row.probe, row.name));
                continue;
            }
            observation.counters.push(Counter {
                probe: row.probe.into(),
                name: row.name.into(),
                label: row.label.into(),
                unit: row.unit.into(),
                by_cpu,
            });
        }
        observation
    }
}

fn slept(times: f64) -> ThreadSeen {
    ThreadSeen { voluntary_switches: Some(times.round() as u64), ..ThreadSeen::default() }
}
