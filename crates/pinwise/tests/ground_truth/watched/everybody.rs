//! Nobody in particular is watched: a thread that spins on a CPU, by its own account of CPU time, is reported as a taker.

use super::actor::{Actor, Until, cpu_time_ns, now_ns};
use super::figures::{assert_near, number};
use super::watching::{Stage, retried_where_switches_are_missed};

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
fn a_spinner_is_a_taker(fifo: bool, flags: &[&str]) {
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
    assert!(task["cgroup"].as_str().is_some_and(|path| path.starts_with('/')), "{task:#}");
    let told_ns = number(&task["on_cpu_ns"]);
    // Times of the kernel have interrupts in them where CONFIG_IRQ_TIME_ACCOUNTING is off; those of watch have not.
    let interrupted_ns = number(&sheet.cpu(stage.cpu)["interrupted_ns"]);
    assert_near("the spinner, ns", told_ns, truth_ns, 0.02, interrupted_ns);
    let name = format!("spinner (process {})", std::process::id());
    let place = sheet.rows("takers").iter().position(|taker| taker["name"] == name).unwrap();
    // Where it shares its CPU, somebody on the others may have had more.
    assert!(place == 0 || !fifo, "{:#}", sheet.json["takers"]);
    let row = &sheet.rows("takers")[place];
    assert_eq!((&row["kind"], &row["cpus"]), (&"process".into(), &vec![stage.cpu].into()), "{row:#}");
    assert_near("its process, ns", number(&row["took_ns"]), truth_ns, 0.02, interrupted_ns);
    let wall_ns: u64 = sheet.rows("cpus").iter().map(|cpu| number(&cpu["wall_ns"])).sum();
    let share = number(&row["took_ns"]) as f64 / wall_ns as f64;
    assert!((row["share"].as_f64().unwrap() - share).abs() < 1e-9, "{row:#}");
    let took: u64 = sheet.rows("takers").iter().map(|taker| number(&taker["took_ns"])).sum();
    let parts = ["other_ns", "interrupted_ns"];
    let had: u64 = sheet.rows("cpus").iter().flat_map(|cpu| parts.map(|part| number(&cpu[part]))).sum();
    assert_near("all takers, ns, against what CPUs were not idle", took, had, 0.001, 0);
    let idle = |row: &&serde_json::Value| row["tid"] == 0;
    assert_eq!(sheet.rows("tasks").iter().find(idle), None);
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn a_spinner_is_a_taker_by_its_own_account() {
    retried_where_switches_are_missed(|| a_spinner_is_a_taker(false, &[]));
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn who_has_a_cpu_from_before_the_window_to_its_end_is_the_first_taker() {
    retried_where_switches_are_missed(|| a_spinner_is_a_taker(true, &[]));
}
