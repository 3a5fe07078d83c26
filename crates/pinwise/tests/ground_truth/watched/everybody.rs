//! Nobody in particular is watched: a thread that spins on a CPU, by its own account of CPU time, is the first taker.

use super::actor::{Actor, Until, cpu_time_ns, now_ns};
use super::figures::{assert_near, number};
use super::watching::{Stage, when_told};

/// What the spinner knew at a moment.
struct Reading {
    at_ns: u64,
    cpu_ns: u64,
}

/// The job of the spinner: it reads its CPU time 1,000 times a second.
fn spin_and_look(until: &Until) -> Vec<Reading> {
    let mut readings = Vec::with_capacity(40_000);
    while until.goes_on() {
        readings.push(Reading { at_ns: now_ns(), cpu_ns: cpu_time_ns() });
        let next_ns = now_ns() + 1_000_000;
        while now_ns() < next_ns {}
    }
    readings
}

/// CPU time between the readings nearest to the edges of the window, ns.
fn between(readings: &[Reading], (from_ns, to_ns): (u64, u64)) -> u64 {
    let nearest = |at_ns: u64| readings.iter().min_by_key(|seen| seen.at_ns.abs_diff(at_ns)).unwrap().cpu_ns;
    nearest(to_ns) - nearest(from_ns)
}

/// `fifo`: nobody takes its CPU, so that its one slice begins before the window and ends after it.
fn a_spinner_is_the_first_taker(fifo: bool, flags: &[&str]) {
    let Some(stage) = Stage::new() else { return };
    let spinner = match fifo {
        true => Actor::start_fifo("spinner", stage.cpu, 10, spin_and_look),
        false => Actor::start("spinner", stage.cpu, spin_and_look),
    };
    let tid = spinner.tid;
    let sheet = stage.watch(&[&["--all", "--for", "2s"], flags].concat());
    let truth_ns = between(&spinner.stop(), sheet.window());
    let task = sheet.rows("tasks").iter().find(|task| task["tid"] == tid);
    let task = task.unwrap_or_else(|| panic!("no task {tid} in {:#}", sheet.json["tasks"]));
    let told_ns = number(&task["on_cpu_ns"]);
    // Times of the kernel have interrupts in them where CONFIG_IRQ_TIME_ACCOUNTING is off; those of watch have not.
    let interrupted_ns = number(&sheet.cpu(stage.cpu)["interrupted_ns"]);
    assert_near("the spinner, ns", told_ns, truth_ns, 0.02, interrupted_ns);
    let first = &sheet.json["takers"][0];
    let name = format!("spinner (process {})", std::process::id());
    assert_eq!(
        (&first["name"], &first["kind"]),
        (&name.into(), &"process".into()),
        "{:#}",
        sheet.json["takers"]
    );
    assert_eq!(first["cpus"], stage.cpu.to_string(), "{first:#}");
    assert_near("its process, ns", number(&first["took_ns"]), truth_ns, 0.02, interrupted_ns);
    let wall_ns: u64 = sheet.rows("cpus").iter().map(|cpu| number(&cpu["wall_ns"])).sum();
    let share = number(&first["took_ns"]) as f64 / wall_ns as f64;
    assert!((first["share"].as_f64().unwrap() - share).abs() < 1e-9, "{first:#}");
    let took: u64 = sheet.rows("takers").iter().map(|taker| number(&taker["took_ns"])).sum();
    let parts = ["other_ns", "interrupted_ns"];
    let had: u64 = sheet.rows("cpus").iter().flat_map(|cpu| parts.map(|part| number(&cpu[part]))).sum();
    assert_near("all takers, ns, against what CPUs were not idle", took, had, 0.001, 0);
    let idle = |row: &&serde_json::Value| row["tid"] == 0;
    assert_eq!(sheet.rows("tasks").iter().find(idle), None);
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn a_spinner_is_the_first_taker_of_all_cpus() {
    when_told(|| a_spinner_is_the_first_taker(false, &[]));
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn a_slice_that_never_ends_is_told_as_well() {
    when_told(|| a_spinner_is_the_first_taker(true, &[]));
}
