//! The published single-server study (E5 of the project's reference list of engineers' write-ups): a single-threaded
//! string server pinned to each CPU of a Xeon E5-2687W in turn, clients served a second.
//!
//! Means, standard deviations, the interrupt counts of IRQ 85 and 86 and that CPU 13 is CPU 5's sibling are the
//! published ones. Made up here, because the published study did not have them: the trials behind each mean, the
//! dose, the CPUs that the unpinned server used, the length of the counting window, and latencies.

use std::collections::BTreeMap;

use advise::Explained;
use advise::{EvidenceLine, Finding, Fit, Predicted, Standing};
use machine::{CpuSet, Missing};
use report::{CaseView, Commands};
use study::intervention::{Intervention, Outcome, Prediction};
use study::{Arm, Contrast, Facts, Proof, Role, Verdict};

use crate::build::{self, Rates, Shape, deviate};

/// Mean and standard deviation by CPU.
const PUBLISHED: [(f64, f64); 16] = [
    (10244.2, 47.298),
    (10253.6, 52.063),
    (10245.4, 48.202),
    (10204.8, 47.422),
    (10265.0, 54.902),
    (7807.4, 41.105),
    (10217.4, 51.623),
    (10274.0, 46.656),
    (10238.6, 62.919),
    (10290.6, 49.318),
    (10209.4, 52.044),
    (10194.8, 54.377),
    (10243.4, 52.321),
    (8874.0, 43.959),
    (9849.2, 49.794),
    (10352.0, 55.194),
];

/// Unpinned: mean and standard deviation.
const UNPINNED: (f64, f64) = (9523.0, 864.0);

/// Seconds over which the published counts are spread here; the published study does not say.
const COUNTED_OVER_S: f64 = 60.0;

fn figure(arm: &Arm, index: usize, block: usize) -> f64 {
    let (mean, sd) = match (arm.role, arm.cpu) {
        (Role::Baseline, _) => UNPINNED,
        (Role::Dose, _) => (0.8 * PUBLISHED[0].0, 160.0),
        (_, Some(cpu)) => PUBLISHED[cpu as usize],
        // Server and load together, which was not published.
        _ => (4_120.0, 160.0),
    };
    mean + sd * deviate(index, block)
}

fn counters(_: &Arm) -> Rates {
    let each = |rate: &dyn Fn(u32) -> f64| (0..16).map(|cpu| (cpu, rate(cpu))).collect();
    let only = |at: u32, count: f64, rest: &[(u32, f64)]| {
        let mut by_cpu: BTreeMap<u32, f64> = (0..16).map(|cpu| (cpu, 0.0)).collect();
        by_cpu.extend(rest.iter().map(|(cpu, n)| (*cpu, n / COUNTED_OVER_S)));
        by_cpu.insert(at, count / COUNTED_OVER_S);
        by_cpu
    };
    vec![
        ("interrupts", "85", "p7p1-rx-0", "events", only(5, 424_447.0, &[(0, 14.0)])),
        ("interrupts", "86", "p7p1-tx-0", "events", only(6, 216_701.0, &[])),
        (
            "interrupts",
            "LOC",
            "Local timer interrupts",
            "events",
            each(&|cpu| if cpu == 5 { 1_480.0 } else { 1_003.0 }),
        ),
        ("softirqs", "NET_RX", "", "events", each(&|cpu| if cpu == 5 { 9_900.0 } else { 41.0 })),
        ("stat", "softirq", "", "us", each(&|cpu| if cpu == 5 { 214_000.0 } else { 3_100.0 })),
        ("stat", "user", "", "us", each(&|_| 610_000.0)),
    ]
}

fn used(arm: &Arm) -> BTreeMap<u32, f64> {
    match arm.placement.server_cpus.as_ref().and_then(CpuSet::first) {
        Some(cpu) => BTreeMap::from([(cpu, 1.0)]),
        None => [(5, 0.31), (13, 0.18), (0, 0.17), (2, 0.14), (9, 0.11), (14, 0.06), (7, 0.03)].into(),
    }
}

/// The case.
pub fn facts() -> Facts {
    let mut facts = build::facts(&Shape {
        title: "String server on each CPU of an E5-2687W",
        cpus: CpuSet::from_list("0-15").unwrap(),
        blocks: 12,
        figure: &figure,
        counters: &counters,
        used: &used,
        missing: vec![
            Missing::new("/proc/4711/task/4712/schedstat", "absent: the kernel was built without schedstats"),
            Missing::new(
                "pressure",
                "/proc/pressure is absent: the kernel was built without PSI or started with psi=0",
            ),
        ],
    });
    for cpu in &mut facts.machine.cpus {
        cpu.siblings = Some([cpu.id % 8, cpu.id % 8 + 8].into_iter().collect());
    }
    facts
}

/// The findings that such a case should give, written out by hand.
pub fn findings(facts: &Facts) -> Vec<Finding> {
    let observed = |cpu: u32| facts.evidence.against_other_cpus.iter().find(|c| c.cpu == Some(cpu)).cloned();
    let arms: Vec<Arm> = facts.study.arms.iter().filter(|a| matches!(a.cpu, Some(5 | 7))).cloned().collect();
    let intervention = Intervention {
        what: "IRQ 85 (p7p1-rx-0) is moved from CPU 5 to CPU 7".into(),
        predictions: vec![Prediction {
            arm: "cpu 5".into(),
            reference: "cpu 7".into(),
            expect: Verdict::Better,
            words: "CPU 5 becomes faster when IRQ 85 is on CPU 7".into(),
        }],
        arms,
    };
    let line = |what: &str, bad: f64, good: f64, unit: &str| EvidenceLine {
        what: what.into(),
        bad,
        good,
        unit: unit.into(),
    };
    let network = Finding {
        id: "finding-1".into(),
        rule: "interrupts".into(),
        title: "IRQ 85 (p7p1-rx-0) takes CPU 5".into(),
        cpu: Some(5),
        claim: "Interrupts of the network card take time from whatever runs on CPU 5.".into(),
        mechanism: "Each interrupt and the receive work behind it runs on the CPU that serves it, ahead of the server; the kernel charges that time to the server, so it reads busy on the slow CPU and on the fast one.".into(),
        evidence: vec![
            line("IRQ 85 (p7p1-rx-0) on the server's own CPU", 7_074.1, 0.0, "/s"),
            line("softirq time", 21.4, 0.3, "% of CPU time"),
        ],
        observed: observed(5),
        predicted_loss: Some(Predicted { share: 0.21, from: 0.18, to: 0.25, how: "7,074 interrupts/s at 3.0 us each, and 21 % softirq time".into() }),
        fit: Fit::Agrees,
        agreement: "predicted loss 18 to 25 %, observed 24 %: they agree".into(),
        standing: Standing::Supported,
        missing: vec![Missing::new("time in the interrupt handler", "the kernel was built without IRQ_TIME_ACCOUNTING")],
        remedy: "Keep the server off CPU 5, or move IRQ 85 to another CPU; a balancer may put it back, so change its policy too.".into(),
        commands: vec!["cat /proc/irq/85/smp_affinity_list".into(), "echo 7 | sudo tee /proc/irq/85/smp_affinity_list".into()],
        intervention: Some(intervention),
        proof: None,
        proof_words: None,
    };
    let sibling = Finding {
        id: "finding-2".into(),
        rule: "sibling-interrupts".into(),
        title: "CPU 13 shares its core with CPU 5, which serves IRQ 85".into(),
        cpu: Some(13),
        claim: "What IRQ 85 costs CPU 5 slows its SMT sibling, CPU 13, too.".into(),
        mechanism: "Two hyper-threads share the units of one core: while one works, the other runs slower."
            .into(),
        evidence: vec![line("IRQ 85 (p7p1-rx-0) on the sibling, CPU 5", 7_074.1, 0.0, "/s")],
        observed: observed(13),
        predicted_loss: None,
        fit: Fit::Unknown,
        agreement: String::new(),
        standing: Standing::Possible,
        commands: Vec::new(),
        missing: Vec::new(),
        remedy: "Keep the server off CPU 13 too.".into(),
        ..network.clone()
    };
    let unexplained = Finding {
        id: "finding-3".into(),
        rule: "unexplained".into(),
        title: "CPU 14 is slow, unexplained".into(),
        cpu: Some(14),
        claim: "With the server on CPU 14 requests_per_s is 3.8 % lower than on the other CPUs, and no rule explains it.".into(),
        mechanism: "Not known. No counter differs between this CPU and the others.".into(),
        evidence: Vec::new(),
        observed: observed(14),
        standing: Standing::Unexplained,
        remedy: "Keep the server off CPU 14.".into(),
        intervention: None,
        ..sibling.clone()
    };
    vec![network, sibling, unexplained]
}

/// The findings after the intervention of the first was run, and came out as predicted.
pub fn proved(facts: &Facts) -> Vec<Finding> {
    let mut findings = findings(facts);
    let first = &mut findings[0];
    let intervention = first.intervention.clone().unwrap();
    let contrast = facts.evidence.against_other_cpus.iter().find(|c| c.cpu == Some(7)).cloned();
    let contrast = contrast.map(|c| Contrast {
        ratio: 1.31,
        interval: Some((1.29, 1.33)),
        verdict: Verdict::Better,
        ..c
    });
    let outcome = Outcome { prediction: intervention.predictions[0].clone(), contrast, held: true };
    first.proof = Some(Proof {
        finding: first.title.clone(),
        intervention,
        trials: "proofs/0000".into(),
        outcomes: vec![outcome],
    });
    first.proof_words = Some("CPU 5 became faster when IRQ 85 was taken away".into());
    first.standing = Standing::Proved;
    findings
}

/// The whole view.
pub fn view<'a>(facts: &'a Facts, findings: &'a [Finding], explained: &'a Explained) -> CaseView<'a> {
    CaseView {
        facts,
        findings,
        explained,
        latency: build::latency(facts),
        operations: BTreeMap::new(),
        commands: Commands {
            server: "./string-server --port {port} --rounds 400".into(),
            load: "./string-load --port {port} --connections 4 --seconds 2.2".into(),
        },
        case_dir: "my case".into(),
        machine_text:
            "package 0  node 0  L3 20 MiB\n  core 5  CPU 5,13\n  p7p1  IRQ 85 -> CPU 5   IRQ 86 -> CPU 6\n"
                .into(),
    }
}
