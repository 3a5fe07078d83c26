//! Whatever the target does: the parts of its time add up to its time, and those of a CPU to the CPU's.

use std::io::{Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use super::actor::{Actor, spin};
use super::figures::number;
use super::sleeps::parts_are_all;
use super::watching::{Sheet, Stage, retried_where_switches_are_missed};

/// What may not be accounted for: a thousandth.
const SHARE: f64 = 0.001;

fn adds_up(what: &str, wall: u64, parts: u64) -> f64 {
    let apart = wall.abs_diff(parts) as f64 / wall.max(1) as f64;
    // A thread that lived for some us only is held to one us.
    assert!(apart <= SHARE || wall.abs_diff(parts) < 1_000, "{what}: {parts} ns of {wall} are accounted for");
    apart
}

fn check(sheet: &Sheet) {
    let mut worst: f64 = 0.0;
    for row in sheet.rows("threads") {
        let states = ["on_cpu", "preempted", "run_queue", "throttled", "asleep", "blocked"];
        let parts: u64 = states.iter().map(|state| number(&row[*state]["total_ns"])).sum();
        let parts = parts + number(&row["interrupted_ns"]);
        parts_are_all(row);
        worst = worst.max(adds_up(&format!("thread {row:#}"), number(&row["wall_ns"]), parts));
    }
    eprintln!("{} threads, worst sum {worst:.2e} off", sheet.rows("threads").len());
    for row in sheet.rows("cpus") {
        let parts = ["target_ns", "other_ns", "idle_ns", "interrupted_ns"];
        let parts: u64 = parts.iter().map(|part| number(&row[*part])).sum();
        let apart = adds_up(&format!("CPU {row:#}"), number(&row["wall_ns"]), parts);
        eprintln!("CPU {}: {apart:.2e} off", row["cpu"]);
    }
}

/// What each source took on a CPU is what interrupts took there together; what the target had there is what its threads had.
fn parts_are_the_whole(sheet: &Sheet) {
    for row in sheet.rows("cpus") {
        let sources = row["sources"].as_object().unwrap().values();
        let all: u64 = sources.map(|source| number(&source["total_ns"])).sum();
        assert_eq!(all, number(&row["interrupted_ns"]), "CPU {}", row["cpu"]);
    }
    let on_cpus: u64 = sheet.rows("cpus").iter().map(|row| number(&row["target_ns"])).sum();
    let by_threads: u64 = sheet.rows("threads").iter().map(|row| number(&row["on_cpu"]["total_ns"])).sum();
    adds_up("the target, by CPUs and by threads", on_cpus, by_threads);
}

/// Threads that spin, sleep, wake each other, stand in each other's way and write to a file, on both CPUs.
fn busy(stage: &Stage) -> Vec<Actor<()>> {
    let lock = Arc::new(Mutex::new(0_u64));
    let mut actors = Vec::new();
    for cpu in [stage.aside, stage.cpu] {
        actors.push(Actor::start("spins", cpu, spin));
        actors.push(Actor::start("sleeps", cpu, |until| {
            while until.goes_on() {
                std::thread::sleep(Duration::from_micros(150));
            }
        }));
        let lock = lock.clone();
        actors.push(Actor::start("locks", cpu, move |until| {
            while until.goes_on() {
                let mut count = lock.lock().unwrap();
                *count += 1;
                std::thread::sleep(Duration::from_micros(50));
            }
        }));
        actors.push(Actor::start("writes", cpu, |until| {
            let mut file = tempfile::tempfile_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
            for _ in 0..200 {
                if until.goes_on() {
                    file.write_all(&[0; 512]).unwrap();
                    file.sync_data().unwrap();
                }
            }
        }));
        actors.push(Actor::start("starts", cpu, |until| {
            while until.goes_on() {
                // Some hundred a second: the table of threads has its bound.
                std::thread::spawn(|| std::thread::sleep(Duration::from_millis(5))).join().unwrap();
            }
        }));
    }
    let (mut near, mut far) = UnixStream::pair().unwrap();
    actors.push(Actor::start("asks", stage.aside, move |until| {
        let mut byte = [0];
        while until.goes_on() {
            near.write_all(&byte).unwrap();
            near.read_exact(&mut byte).unwrap();
        }
    }));
    actors.push(Actor::start("answers", stage.cpu, move |_| {
        let mut byte = [0];
        while far.read_exact(&mut byte).is_ok() {
            far.write_all(&byte).unwrap();
        }
    }));
    actors
}

fn sums_of(more: &[&str]) {
    let Some(stage) = Stage::new() else { return };
    let actors = busy(&stage);
    let sheet = stage.watch(&[&["--process", &std::process::id().to_string(), "--for", "3s"], more].concat());
    actors.into_iter().for_each(Actor::stop);
    assert_eq!(sheet.losses(), Vec::<String>::new());
    check(&sheet);
    parts_are_the_whole(&sheet);
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn the_time_of_every_thread_and_cpu_adds_up() {
    retried_where_switches_are_missed(|| {
        sums_of(&[]);
    });
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn it_adds_up_with_raw_trace_points_too() {
    retried_where_switches_are_missed(|| {
        sums_of(&["--raw"]);
    });
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn without_a_target_the_time_of_every_cpu_adds_up() {
    retried_where_switches_are_missed(|| {
        let Some(stage) = Stage::new() else { return };
        let actors = busy(&stage);
        let sheet = stage.watch(&["--for", "3s"]);
        actors.into_iter().for_each(Actor::stop);
        check(&sheet);
        let tasks: u64 = sheet.rows("tasks").iter().map(|row| number(&row["on_cpu_ns"])).sum();
        let cpus: u64 = sheet.rows("cpus").iter().map(|row| number(&row["other_ns"])).sum();
        adds_up("tasks and CPUs", cpus, tasks);
    });
}
