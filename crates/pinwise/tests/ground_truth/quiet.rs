//! What is taken from a task that only spins: where a busy task is put on its CPU, half of it is.

use std::path::Path;

use serde_json::Value;

use crate::pinwise::Bench;

/// What is set while the kernel's own work is moved away.
const MOVED: [&str; 3] = [
    "/proc/sys/vm/stat_interval",
    "/sys/devices/virtual/workqueue/cpumask",
    "/proc/irq/default_smp_affinity",
];

fn as_set() -> Vec<String> {
    MOVED.iter().map(|path| std::fs::read_to_string(path).unwrap_or_default()).collect()
}

/// The figure of each trial of an arm.
fn figures(trials: &[Value], arm: &str, name: &str) -> Vec<f64> {
    let of_arm = trials.iter().filter(|trial| trial["arm"] == arm && trial["failed"].is_null());
    of_arm.map(|trial| trial["figures"][name].as_f64().unwrap()).collect()
}

#[test]
#[ignore = "ground truth: needs root and two CPUs; run by `make test`"]
fn a_task_on_its_cpu_is_seen_and_what_was_moved_away_is_put_back() {
    let recipe = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../recipes/quiet-cpu.toml");
    let (bench, before) = (Bench::new(), as_set());
    let case = bench.case().display().to_string();
    let recipe = recipe.display().to_string();
    bench.json(&[
        "study",
        &recipe,
        "--blocks",
        "1",
        "--attempts",
        "1",
        "--window",
        "0.5",
        "--format",
        "json",
        "-o",
        &case,
    ]);
    let trials = std::fs::read_to_string(bench.case().join("trials.jsonl")).unwrap();
    let trials: Vec<Value> = trials.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let shared = figures(&trials, "pinned, another task on its CPU", "taken_share");
    // Two tasks of one weight share a CPU; others may want it too.
    assert!(!shared.is_empty() && shared.iter().all(|share| *share > 0.3), "{shared:?}");
    // A busy CPU without nohz_full is ticked; a hypervisor that takes half of the time takes half of the ticks.
    let ticks = figures(&trials, "pinned", "ticks_per_s");
    assert!(ticks.iter().all(|ticks| *ticks > 40.0), "{ticks:?}");
    let study = std::fs::read_to_string(bench.case().join("study.toml")).unwrap();
    assert!(study.contains("vm-stat-interval") && study.contains("workqueue-cpus"), "{study}");
    assert_eq!(as_set(), before);
    bench.nothing_is_changed();
}
