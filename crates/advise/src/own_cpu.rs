//! Counters on the server's own CPU: on the slow one with the server there, beside the others with the server there.
//!
//! Comparing CPUs while the server is always where the counter is read takes out what the server itself brings along;
//! what is left belongs to the CPU.

use std::collections::{BTreeMap, BTreeSet};

use probe::Observation;
use study::statistics::summary::median;
use study::{Facts, Role};

use crate::interrupt_rows;

/// One counter row on the slow CPU and on the others, each with the server there; per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Pair {
    /// On the slow CPU.
    pub bad: f64,
    /// Median over the other CPUs; those that are slow too are left out while there are others.
    pub good: f64,
}

impl Pair {
    /// How much more there is on the slow CPU; negative where there is less.
    pub fn excess(&self) -> f64 {
        self.bad - self.good
    }
}

/// A counter row by name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Row {
    /// The probe.
    pub probe: String,
    /// The row.
    pub name: String,
    /// What the kernel calls it.
    pub label: String,
    /// Unit of the differences: `events`, `us`.
    pub unit: String,
}

/// Median rates over the trials of one arm on one CPU, by probe and row.
type Rates<'a> = BTreeMap<(&'a str, &'a str), f64>;

/// Every counter row on the CPU that belongs to the server's own, for every CPU that was tried.
#[derive(Debug)]
pub struct OwnCpu<'a> {
    rates: BTreeMap<u32, Rates<'a>>,
    rows: BTreeSet<Row>,
    slow: BTreeSet<u32>,
    /// Voluntary context switches of the server there, 1/s, by CPU: it was woken as often. Where they are known.
    sleeps: BTreeMap<u32, f64>,
}

impl<'a> OwnCpu<'a> {
    /// Reads the counters of the CPU that the server was pinned to.
    pub fn of(facts: &'a Facts) -> Self {
        Self::watching(facts, Some)
    }

    /// Reads the counters of `watched(cpu)` while the server was pinned to `cpu`; CPUs without one are left out.
    pub fn watching(facts: &'a Facts, watched: impl Fn(u32) -> Option<u32>) -> Self {
        let mut rates = BTreeMap::new();
        let mut rows = BTreeSet::new();
        let mut sleeps = BTreeMap::new();
        for (cpu, arm) in arms_by_cpu(facts) {
            let Some(watched) = watched(cpu) else { continue };
            let observations = facts.observations(arm);
            rates.insert(cpu, rates_on(&observations, watched));
            // Of another CPU than the server's own nothing is known of who sleeps there.
            let slept = (watched == cpu).then(|| sleeps_per_s(&observations)).flatten();
            sleeps.extend(slept.map(|rate| (cpu, rate)));
            rows.extend(observations.iter().flat_map(|o| &o.counters).map(|c| Row {
                probe: c.probe.clone(),
                name: c.name.clone(),
                label: c.label.clone(),
                unit: c.unit.clone(),
            }));
        }
        let slow = facts.evidence.cpus_to_explain().iter().filter_map(|c| c.cpu).collect();
        Self { rates, rows, slow, sleeps }
    }

    /// Rows of one probe that moved in some trial.
    pub fn rows(&self, probe: &str) -> impl Iterator<Item = &Row> {
        self.rows.iter().filter(move |r| r.probe == probe)
    }

    /// One row on `cpu` against the other CPUs; `None` when it is not known on either side.
    pub fn pair(&self, probe: &str, name: &str, cpu: u32) -> Option<Pair> {
        self.against_others(cpu, |cpu| self.rate(probe, name, cpu))
    }

    /// A row of /proc/interrupts on `cpu` against the other CPUs, without interrupts that announce a wake-up of the server: it sleeps when
    /// those arrive, and loses no time to them. Where it is not known how often it slept, the row as it is.
    pub fn interrupts_without_wake_ups(&self, row: &Row, cpu: u32) -> Option<Pair> {
        if !interrupt_rows::announces_wake_ups(&row.name, &row.label) {
            return self.pair("interrupts", &row.name, cpu);
        }
        let announcing: Vec<&Row> = self
            .rows("interrupts")
            .filter(|row| interrupt_rows::announces_wake_ups(&row.name, &row.label))
            .collect();
        // A wake-up is announced by one interrupt at most, of whichever kind: each row has its part of them.
        self.against_others(cpu, |cpu| {
            let rate = |row: &Row| self.rate("interrupts", &row.name, cpu);
            let all: f64 = announcing.iter().filter_map(|row| rate(row)).sum();
            let sleeps = self.sleeps.get(&cpu).copied().unwrap_or(0.0);
            let part = if all > 0.0 { ((all - sleeps) / all).max(0.0) } else { 0.0 };
            Some(rate(row)? * part)
        })
    }

    fn rate(&self, probe: &str, name: &str, cpu: u32) -> Option<f64> {
        self.rates.get(&cpu)?.get(&(probe, name)).copied()
    }

    /// What `rate` is on `cpu`, and on the median of the others.
    fn against_others(&self, cpu: u32, rate: impl Fn(u32) -> Option<f64>) -> Option<Pair> {
        let of = |all: bool| -> Vec<f64> {
            let others = self.rates.keys().filter(|c| **c != cpu && (all || !self.slow.contains(c)));
            others.filter_map(|cpu| rate(*cpu)).collect()
        };
        Some(Pair { bad: rate(cpu)?, good: median(&of(false)).or_else(|| median(&of(true)))? })
    }

    /// Whether any row of `probe` can be compared on `cpu`.
    pub fn knows(&self, probe: &str, cpu: u32) -> bool {
        let known = |rates: &Rates| rates.keys().any(|(p, _)| *p == probe);
        self.rates.get(&cpu).is_some_and(known) && self.rates.iter().any(|(c, r)| *c != cpu && known(r))
    }
}

/// The arms that pin the server to one CPU, by CPU.
pub fn arms_by_cpu(facts: &Facts) -> BTreeMap<u32, &str> {
    let one_cpu = facts.study.arms.iter().filter(|a| a.role == Role::Candidate);
    one_cpu.filter_map(|a| Some((a.cpu?, a.name.as_str()))).collect()
}

/// A row's rate on `cpu` while the server ran on other CPUs: median over their arms.
pub fn rate_with_server_elsewhere(facts: &Facts, probe: &str, name: &str, cpu: u32) -> Option<f64> {
    let arms = arms_by_cpu(facts);
    let elsewhere = arms.iter().filter(|(c, _)| **c != cpu);
    let rates: Vec<f64> = elsewhere.filter_map(|(_, arm)| facts.median_rate(arm, probe, name, cpu)).collect();
    median(&rates)
}

/// Voluntary context switches of the server's threads, 1/s: median over the trials that have them of every thread.
fn sleeps_per_s(observations: &[&Observation]) -> Option<f64> {
    let of = |observation: &&Observation| -> Option<f64> {
        let window_s = Some(observation.window_s()).filter(|window_s| *window_s > 0.0)?;
        let switches = observation.threads.iter().map(|thread| thread.voluntary_switches);
        let all = switches.collect::<Option<Vec<u64>>>()?.into_iter().fold(0, u64::saturating_add);
        (!observation.threads.is_empty()).then(|| all as f64 / window_s)
    };
    median(&observations.iter().filter_map(of).collect::<Vec<_>>())
}

fn rates_on<'a>(observations: &[&'a Observation], cpu: u32) -> Rates<'a> {
    let mut values: BTreeMap<(&str, &str), Vec<f64>> = BTreeMap::new();
    for observation in observations {
        let window_s = observation.window_s();
        if window_s <= 0.0 {
            continue;
        }
        for counter in &observation.counters {
            if let Some(n) = counter.by_cpu.get(&cpu) {
                values.entry((&counter.probe, &counter.name)).or_default().push(*n as f64 / window_s);
            }
        }
        for (probe, name) in observation.still.iter().filter_map(|row| row.split_once('/')) {
            values.entry((probe, name)).or_default().push(0.0);
        }
    }
    values.into_iter().filter_map(|(row, v)| Some((row, median(&v)?))).collect()
}
