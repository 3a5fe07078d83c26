//! Other shapes: two CPUs, many CPUs, nothing measured yet, and names that want to break out.

use std::collections::BTreeMap;

use machine::{CpuSet, Missing};
use study::evidence::{Judgement, Outcome};
use study::{Arm, Facts, Role};

use crate::build::{self, Shape, deviate};

/// The server on the CPU of its arm; unpinned on two.
pub fn own_cpu(arm: &Arm) -> BTreeMap<u32, f64> {
    let pinned = arm.placement.server_cpus.as_ref().and_then(CpuSet::first);
    pinned.map(|cpu| BTreeMap::from([(cpu, 1.0)])).unwrap_or_else(|| BTreeMap::from([(0, 0.6), (1, 0.4)]))
}

/// Two CPUs, a timer-interrupt storm on CPU 0; figures of the order that were measured on a machine with two CPUs.
pub fn two_cpus() -> Facts {
    build::facts(&Shape {
        title: "",
        cpus: CpuSet::from_list("0-1").unwrap(),
        blocks: 10,
        figure: &|arm, index, block| {
            let mean = match (arm.role, arm.cpu) {
                (Role::Dose, _) => 0.8 * 23_936.0,
                (Role::Baseline, _) => 29_000.0,
                (_, Some(0)) => 23_936.0,
                (_, Some(_)) => 33_535.0,
                // Server and load on one CPU: the storm shows there, too.
                (_, None) if arm.name.ends_with('0') => 15_100.0,
                (_, None) => 21_200.0,
            };
            let spread = if arm.role == Role::Baseline { 0.12 } else { 0.03 };
            mean * (1.0 + spread * deviate(index, block))
        },
        counters: &|_| {
            vec![
                (
                    "interrupts",
                    "LOC",
                    "Local timer interrupts",
                    "events",
                    BTreeMap::from([(0, 10_250.0), (1, 251.0)]),
                ),
                (
                    "interrupts",
                    "CAL",
                    "Function call interrupts",
                    "events",
                    BTreeMap::from([(0, 12.0), (1, 11.0)]),
                ),
                ("softirqs", "TIMER", "", "events", BTreeMap::from([(0, 240.0), (1, 236.0)])),
            ]
        },
        used: &own_cpu,
        missing: Vec::new(),
    })
}

/// `count` CPUs of which numbers 37 and 200 (where there are such) are slow.
pub fn many(count: u32) -> Facts {
    build::facts(&Shape {
        title: "Many CPUs",
        cpus: (0..count).collect(),
        // Holm over 256 comparisons at 5 % needs 15 blocks.
        blocks: 15,
        figure: &|arm, index, block| {
            let mean = match (arm.role, arm.cpu) {
                (Role::Dose, _) => 0.8 * 10_200.0,
                (_, Some(37)) => 7_800.0,
                (_, Some(200)) => 9_100.0,
                _ => 10_200.0,
            };
            mean * (1.0 + 0.004 * deviate(index, block))
        },
        counters: &|arm| {
            let rate = |cpu: u32| if cpu == 37 { 52_000.0 } else { 3.0 };
            let by_cpu = arm.cpu.map(|cpu| BTreeMap::from([(cpu, rate(cpu))])).unwrap_or_default();
            vec![
                ("interrupts", "233", "mlx5_comp4@pci:0000:81:00.0", "events", by_cpu.clone()),
                ("softirqs", "NET_RX", "", "events", by_cpu),
            ]
        },
        used: &own_cpu,
        missing: Vec::new(),
    })
}

/// A case whose first trial has not finished.
pub fn empty() -> Facts {
    build::facts(&Shape {
        title: "Nothing yet",
        cpus: CpuSet::from_list("0-1").unwrap(),
        blocks: 0,
        figure: &|_, _, _| 0.0,
        counters: &|_| Vec::new(),
        used: &own_cpu,
        missing: Vec::new(),
    })
}

/// Text that would run, break out of an attribute, drive the terminal or turn the reading direction.
pub const HOSTILE: &str = "</svg><script>alert(1)</script>\" onload='x' \x1b[2J\u{202e}&amp;";

/// The two-CPU case with hostile text wherever text comes from outside.
pub fn hostile() -> Facts {
    let mut facts = two_cpus();
    let rename = |name: &mut String| name.insert_str(0, HOSTILE);
    facts.study.arms.iter_mut().for_each(|a| rename(&mut a.name));
    facts.evidence.arms.iter_mut().for_each(|a| rename(&mut a.arm));
    let evidence = &mut facts.evidence;
    let contrasts = evidence.against_baseline.iter_mut().chain(&mut evidence.against_other_cpus);
    let control = evidence.control.as_mut().map(|control| &mut control.contrast);
    for contrast in contrasts.chain(&mut evidence.a_a).chain(control) {
        rename(&mut contrast.arm);
        rename(&mut contrast.reference);
    }
    evidence.unit = HOSTILE.into();
    evidence.notes.push(HOSTILE.into());
    facts.study.recipe.name = HOSTILE.into();
    facts.study.command.push(HOSTILE.into());
    facts.machine.kernel.cmdline = Some(HOSTILE.into());
    facts.machine.missing.push(Missing::new(HOSTILE, HOSTILE));
    for seen in &mut facts.trials {
        rename(&mut seen.trial.arm);
        seen.trial.missing.push(Missing::new(HOSTILE, HOSTILE));
        seen.trial.as_run.not_as_asked.push(HOSTILE.into());
        seen.trial.warm_up.how = HOSTILE.into();
        for counter in seen.observation.iter_mut().flat_map(|o| &mut o.counters) {
            rename(&mut counter.label);
            rename(&mut counter.name);
        }
    }
    facts
}

/// The two-CPU case with numbers at the end of their types, which no study has.
pub fn boundless() -> Facts {
    let mut facts = two_cpus();
    for seen in &mut facts.trials {
        (seen.trial.block, seen.trial.took_s) = (usize::MAX, f64::MAX);
    }
    let expectation: study::Expectation = "requests_per_s of \"cpu 1\" >= 1 x baseline".parse().unwrap();
    facts.evidence.expectations = vec![Judgement {
        expectation,
        arm: "cpu 1".into(),
        blocks: 10,
        value: Some(1.2),
        interval: None,
        confidence: 0.95,
        outcome: Outcome::Passed,
    }];
    facts
}

/// The two-CPU case without a single observation: no probe could read anything.
pub fn unobserved() -> Facts {
    let mut facts = two_cpus();
    for (i, seen) in facts.trials.iter_mut().enumerate() {
        seen.observation = None;
        seen.trial.as_run.server_cpus_used.clear();
        seen.trial
            .missing
            .push(Missing::new(format!("/proc/{}/stat", 1000 + i), "Permission denied: run as root"));
    }
    facts.interrupt_cost_ns = None;
    facts.machine = machine::Machine::default();
    for arm in &mut facts.evidence.arms {
        arm.cpus_used.clear();
    }
    facts
}
