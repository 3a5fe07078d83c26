//! Builds cases from figures, so that each shape says only what is special about it.

use std::collections::BTreeMap;

use machine::{CpuSet, Missing};
use probe::{Counter, Observation};
use study::arm::each_cpu_in_turn;
use study::evidence::weigh;
use study::{Arm, AsRun, Facts, Recipe, Resolved, Role, Seen, Trial, WarmUp};

/// Twelve quantiles of the normal distribution with mean 0, shuffled; [`deviate`] brings them to standard deviation 1.
const DEVIATES: [f64; 12] = [0.31, -1.17, 0.74, -0.31, 1.73, -0.10, -0.74, 1.17, 0.10, -1.73, 0.52, -0.52];

/// The deviate of an arm in a block; arms are shifted against each other so that they do not move together.
pub fn deviate(arm: usize, block: usize) -> f64 {
    let n = DEVIATES.len() as f64;
    let sd = (DEVIATES.iter().map(|d| d * d).sum::<f64>() / (n - 1.0)).sqrt();
    DEVIATES[(block * 5 + arm * 7) % DEVIATES.len()] / sd
}

/// Rates a second: (probe, row, label, unit, by CPU).
pub type Rates = Vec<(&'static str, &'static str, &'static str, &'static str, BTreeMap<u32, f64>)>;

/// What a shape says about its trials.
pub struct Shape<'a> {
    pub title: &'a str,
    pub cpus: CpuSet,
    pub blocks: usize,
    /// Figure of an arm in a block.
    pub figure: &'a dyn Fn(&Arm, usize, usize) -> f64,
    /// Events a second while an arm runs: (probe, row, label, unit, by CPU).
    pub counters: &'a dyn Fn(&Arm) -> Rates,
    /// CPUs that the server used, by share.
    pub used: &'a dyn Fn(&Arm) -> BTreeMap<u32, f64>,
    pub missing: Vec<Missing>,
}

/// Seconds of a measured window.
const WINDOW_S: f64 = 1.6;

/// Builds the case; trials are in order of time, 2.9 s apart.
pub fn facts(shape: &Shape) -> Facts {
    let arms = each_cpu_in_turn(&shape.cpus, &shape.cpus, None).unwrap();
    let order = study::design::draw_order(arms.len(), shape.blocks.max(1), 85);
    let mut trials = Vec::new();
    for (block, arms_of_block) in order.iter().enumerate().take(shape.blocks) {
        for (position, arm) in arms_of_block.iter().enumerate() {
            trials.push(seen(shape, &arms[*arm], *arm, (block, position, trials.len())));
        }
    }
    let only: Vec<Trial> = trials.iter().map(|s| s.trial.clone()).collect();
    let recipe =
        Recipe { name: shape.title.into(), seed: Some(85), ..Recipe::from_toml("", "test").unwrap() };
    Facts {
        observed: Vec::new(),
        evidence: weigh(&arms, &only, &study::Recipe::default().question()),
        study: Resolved {
            format: 1,
            pinwise: "0.1.0".into(),
            made_unix_s: 1_767_618_120,
            command: vec!["pinwise".into(), "study".into(), "-o".into(), "my case".into()],
            order,
            boots: None,
            string_rounds: Some(400),
            recipe,
            arms,
            stages: Vec::new(),
            found: None,
            added: Vec::new(),
        },
        machine: machine(&shape.cpus),
        as_found: Vec::new(),
        trials,
        interrupt_cost_ns: Some(3_000.0),
        screening: None,
        paths: Vec::new(),
        proofs: Vec::new(),
        missing: Vec::new(),
    }
}

fn seen(
    shape: &Shape,
    arm: &Arm,
    index_of_arm: usize,
    (block, position, index): (usize, usize, usize),
) -> Seen {
    let figure = (shape.figure)(arm, index_of_arm, block);
    let us = 1e6 / figure;
    let figures = [
        ("requests_per_s", figure),
        ("latency_p50_us", us * 3.8),
        ("latency_p90_us", us * 4.6),
        ("latency_p99_us", us * 9.0),
        ("latency_p999_us", us * 31.0),
        ("latency_max_us", us * 77.0),
    ];
    let trial = Trial {
        index,
        block,
        position,
        arm: arm.name.clone(),
        began_unix_s: 1_767_618_120.0 + 2.9 * index as f64,
        took_s: 2.8,
        window_s: WINDOW_S,
        figures: figures.map(|(name, value)| (name.to_string(), value)).into(),
        units: BTreeMap::from([("requests_per_s".into(), "requests/s".into())]),
        warm_up: WarmUp {
            left_out_s: Some(0.3),
            capped: false,
            how: "the first interval from which the rate stays level".into(),
        },
        as_run: AsRun { server_cpus_used: (shape.used)(arm), ..AsRun::default() },
        missing: shape.missing.clone(),
        ..Trial::default()
    };
    let counters = (shape.counters)(arm)
        .into_iter()
        .map(|(probe, name, label, unit, by_cpu)| Counter {
            probe: probe.into(),
            name: name.into(),
            label: label.into(),
            unit: unit.into(),
            by_cpu: by_cpu.into_iter().map(|(cpu, rate)| (cpu, (rate * WINDOW_S).round() as u64)).collect(),
        })
        .collect();
    let observation = Observation {
        from_ns: 0,
        to_ns: (WINDOW_S * 1e9) as u64,
        samples: 17,
        sampling_share: 0.004,
        counters,
        still: vec!["stat/irq".into()],
        ..Observation::default()
    };
    Seen { trial, observation: Some(observation) }
}

fn machine(cpus: &CpuSet) -> machine::Machine {
    let one = |id: u32| serde_json::json!({"id": id, "online": true, "allowed": true, "package": 0, "node": 0, "siblings": []});
    let all: Vec<_> = cpus.iter().map(one).collect();
    serde_json::from_value(serde_json::json!({
        "cpus": all,
        "memory_bytes": 34_359_738_368u64,
        "kernel": {"release": "3.10.0-123.el7", "architecture": "x86_64", "cmdline": "ro quiet", "hz": 1000, "irq_time_accounting": false},
        "idle": {"driver": "intel_idle", "governor": "menu", "states": [{"name": "C1", "exit_latency_us": 1}, {"name": "C6", "exit_latency_us": 104}]},
        "missing": [{"fact": "cpuset of this process", "why": "no cgroup file system is mounted"}],
    }))
    .unwrap()
}

/// Latency curves in the shape of a closed loop with a tail: (percentile, us) by arm.
pub fn latency(facts: &Facts) -> BTreeMap<String, Vec<(f64, f64)>> {
    let curve = |mean_us: f64, tail: f64| -> Vec<(f64, f64)> {
        (0..60)
            .map(|i| {
                let nines = f64::from(i) / 15.0;
                (
                    100.0 * (1.0 - 10f64.powf(-nines)),
                    mean_us * (0.9 + 0.12 * nines + tail * 0.02 * nines.powi(4)),
                )
            })
            .collect()
    };
    facts
        .evidence
        .arms
        .iter()
        .map(|arm| {
            let us = 4e6 / arm.figure.mean;
            let tail = match arm.role {
                Role::Dose => 6.0,
                Role::Baseline => 3.0,
                _ => 1.0 + f64::from(arm.cpu.unwrap_or(0) % 5) * 0.12,
            };
            (arm.arm.clone(), curve(us, tail))
        })
        .collect()
}
