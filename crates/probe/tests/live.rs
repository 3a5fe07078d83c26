//! The running system, without root: truths that hold wherever the kernel has the file. Where it has not, the test says so.

// clippy knows only functions marked #[test] as tests; these helpers serve them.
#![allow(clippy::unwrap_used)]

use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use machine::procfs::pid_stat;
use machine::{ProcessRef, Root};
use pinwise_probe::{Observation, Party, Recording, Sampler};

/// Ends the child whatever happens.
struct Ended(Child);

impl Drop for Ended {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn shell(script: &str) -> (Ended, ProcessRef) {
    let child =
        Command::new("sh").args(["-c", script]).stdout(Stdio::null()).stdin(Stdio::null()).spawn().unwrap();
    let text = std::fs::read_to_string(format!("/proc/{}/stat", child.id())).unwrap();
    let start_time_ticks = pid_stat::parse(&text).unwrap().start_time_ticks;
    let process = ProcessRef { pid: child.id(), start_time_ticks };
    (Ended(child), process)
}

fn record(watch: Option<ProcessRef>, lasting: Duration) -> Recording {
    let (stop, sampler) = (AtomicBool::new(false), Sampler::new(Root::live(), watch));
    std::thread::scope(|scope| {
        let recording = scope.spawn(|| sampler.run(&stop, Duration::from_millis(100)));
        std::thread::sleep(lasting);
        stop.store(true, Ordering::Release);
        recording.join().unwrap()
    })
}

fn whole(recording: &Recording) -> Observation {
    let (from_ns, to_ns) = recording.span_ns().unwrap();
    recording.window(from_ns, to_ns)
}

#[test]
fn a_busy_child_is_seen_to_be_busy_and_a_sleeping_one_to_switch() {
    let (_busy, busy) = shell("while :; do :; done");
    let seen = whole(&record(Some(busy), Duration::from_millis(800)));
    let [thread] = &seen.threads[..] else { panic!("one thread: {:?}", seen.threads) };
    let Some(on_cpu_us) = thread.on_cpu_us else {
        return eprintln!("skipped: this kernel keeps no schedstat: {:?}", seen.missing);
    };
    let ticks_us = thread.user_us.unwrap() + thread.system_us.unwrap();
    assert!(on_cpu_us > 0 && on_cpu_us <= (seen.window_s() * 1e6) as u64 + 100_000, "{thread:?}");
    // Both are rounded to ticks of 10 ms at either end, and read one after the other.
    assert!(ticks_us.abs_diff(on_cpu_us) <= 60_000, "{thread:?}");
    assert!(!thread.seen_on.is_empty() && thread.allowed.is_some());

    let (_sleeper, sleeper) = shell("while :; do sleep 0.05; done");
    let seen = whole(&record(Some(sleeper), Duration::from_millis(500)));
    let shell = seen.threads.iter().find(|thread| thread.pid == sleeper.pid).unwrap();
    assert!(shell.voluntary_switches.unwrap() >= 1, "{shell:?}");
    assert!(seen.threads.len() > 1, "the children that it forks are followed: {:?}", seen.threads);
}

#[test]
fn interrupts_and_time_move_on_the_running_system() {
    // The sampler's own CPU is not idle, so its timer ticks: at least one CPU must have moved.
    let seen = whole(&record(None, Duration::from_millis(600)));
    let moved = |probe: &str| seen.counters.iter().any(|counter| counter.probe == probe);
    match std::path::Path::new("/proc/interrupts").exists() {
        true => assert!(moved("interrupts"), "{:?}", seen.missing),
        false => eprintln!("skipped: no /proc/interrupts"),
    }
    assert!(moved("stat"), "{:?}", seen.missing);
    let idle_and_busy: u64 =
        seen.counters.iter().filter(|c| c.probe == "stat").flat_map(|c| c.by_cpu.values()).sum();
    assert!(idle_and_busy > 0 && seen.sampling_share > 0.0 && seen.samples >= 2);
    assert!(seen.system("stat", "ctxt").unwrap().value > 0);
}

#[test]
fn one_sample_has_raw_readings() {
    let sample = Sampler::new(Root::live(), None).sample();
    assert!(sample.at_ns > 0 && sample.took_ns > 0);
    let user = &sample.rows["stat"]["user"];
    assert!(!user.is_empty());
}

#[test]
fn the_process_may_end_before_the_sampler_starts() {
    let (child, process) = shell("exit 0");
    drop(child);
    let seen = whole(&record(Some(process), Duration::from_millis(150)));
    assert!(seen.threads.is_empty());
    assert!(
        seen.missing.iter().any(|missing| missing.fact == format!("process {}", process.pid)),
        "{:?}",
        seen.missing
    );
    assert!(seen.counters.iter().any(|counter| counter.probe == "stat"));
}

#[test]
fn a_tree_that_begins_while_sampling_is_followed_from_its_start_to_its_end() {
    let (_sleeper, server) = shell("sleep 60");
    let (stop, sampler) = (AtomicBool::new(false), Sampler::new(Root::live(), Some(server)));
    let recording = std::thread::scope(|scope| {
        let recording = scope.spawn(|| sampler.run(&stop, Duration::from_millis(100)));
        std::thread::sleep(Duration::from_millis(250));
        let (busy, process) = shell("while :; do :; done");
        sampler.follow(Party::Load, process);
        std::thread::sleep(Duration::from_millis(500));
        drop(busy);
        std::thread::sleep(Duration::from_millis(250));
        stop.store(true, Ordering::Release);
        recording.join().unwrap()
    });
    let seen = whole(&recording);
    let tree = &seen.beside[&Party::Load];
    let [thread] = &tree.threads[..] else { panic!("one thread: {:?}", tree.threads) };
    assert!(seen.threads.iter().all(|server| server.pid != thread.pid), "it is none of the server's");
    // It was there for about half of the window, and is judged by that half.
    assert!((tree.followed_us as f64) < 0.8e6 * seen.window_s() && tree.followed_us > 100_000, "{tree:?}");
    let Some(on_cpu_us) = thread.on_cpu_us else { return eprintln!("skipped: no schedstat") };
    assert!(on_cpu_us > 0 && on_cpu_us <= tree.followed_us + 20_000, "{tree:?}");
}
