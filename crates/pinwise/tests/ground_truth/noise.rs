//! `pinwise noise` where the truth is known: a storm of timer interrupts, a thief of known slices, the tick itself.
//!
//! The loops run with real-time priority where others would be in the way, so that what else the machine does matters little.

use std::os::unix::process::CommandExt as _;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use machine::{CpuSet, Machine, Root};
use serde_json::Value;

/// The user `nobody`.
const NOBODY: u32 = 65_534;

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pinwise"));
    command.arg("noise").args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn document(output: &Output) -> Value {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// The JSON of a measurement; `None` where the kernel offers no events, which is printed.
fn noise(words: &[&str]) -> Option<Value> {
    let output = command(words).args(["--format", "json"]).output().unwrap();
    if output.status.code() == Some(3) {
        eprintln!("skipped: {}", String::from_utf8_lossy(&output.stderr));
        return None;
    }
    let measured = document(&output);
    if measured["joined_to"] != "events" {
        eprintln!("skipped: {}", measured["missing"]);
        return None;
    }
    Some(measured)
}

fn cpu(measured: &Value, number: u64) -> &Value {
    measured["cpus"].as_array().unwrap().iter().find(|cpu| cpu["cpu"] == number).unwrap()
}

fn cause<'a>(cpu: &'a Value, name: &str) -> &'a Value {
    let causes = cpu["causes"].as_array().unwrap();
    causes.iter().find(|cause| cause["cause"] == name).unwrap_or(&Value::Null)
}

fn number(value: &Value) -> f64 {
    value.as_f64().unwrap_or(0.0)
}

/// What holds for every measurement, whatever happened in it.
fn adds_up(measured: &Value) {
    for cpu in measured["cpus"].as_array().unwrap() {
        let sum = |list: &str, key: &str| -> f64 {
            cpu[list].as_array().unwrap().iter().map(|entry| number(&entry[key])).sum()
        };
        let gap_ns = number(&cpu["gap_ns"]);
        assert_eq!(sum("causes", "gap_ns"), gap_ns, "{:#}", cpu["causes"]);
        assert_eq!(sum("lengths", "gaps"), number(&cpu["gaps"]));
        let over_time: f64 = cpu["series"]["gap_ns"].as_array().unwrap().iter().map(number).sum();
        assert_eq!(over_time, gap_ns);
        let by_share = number(&cpu["share"]) * number(&cpu["window_s"]) * 1e9;
        assert!((by_share - gap_ns).abs() <= 1e-6 * gap_ns + 1.0, "{by_share} {gap_ns}");
        assert!(number(&cpu["window_s"]) >= number(&measured["asked_s"]));
    }
}

#[test]
#[ignore = "ground truth: needs root, BPF and two CPUs; run by `make test`"]
fn a_timer_storm_is_found_on_its_cpu_at_its_rate_and_on_no_other() {
    const RATE: f64 = 5_000.0;
    let Some(storm) = crate::storms::start(1, RATE as u32) else { return };
    let Some(measured) = noise(&["--cpu", "0-1", "--for", "3s", "--fifo"]) else { return };
    drop(storm);
    adds_up(&measured);
    let (stormed, other) = (cpu(&measured, 1), cpu(&measured, 0));
    let seconds = number(&stormed["window_s"]);
    let ticks_per_s = number(&stormed["ticks_per_s"]);
    // Its own tick and timers of tasks come beside; expiries that fall together are one interrupt.
    assert!((0.95 * RATE..1.3 * RATE).contains(&ticks_per_s), "{ticks_per_s}");
    let gaps_per_s = number(&cause(stormed, "tick")["gaps"]) / seconds;
    assert!(gaps_per_s > 0.9 * RATE && gaps_per_s <= ticks_per_s, "{gaps_per_s} of {ticks_per_s}");
    assert!(number(&other["ticks_per_s"]) < 0.4 * RATE, "{}", other["ticks_per_s"]);
    assert!(number(&cause(other, "tick")["gaps"]) / seconds < 0.4 * RATE);
}

/// A real-time task that takes a CPU for a known time at known instants, until it is stopped.
struct Thief {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<Vec<Duration>>>,
}

const PERIOD: Duration = Duration::from_millis(10);
const SLICE: Duration = Duration::from_millis(1);

impl Thief {
    fn on(cpu: u32) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);
        let steals = move || {
            change::calling_thread::run_on(&CpuSet::single(cpu)).unwrap();
            change::calling_thread::run_as_fifo().unwrap();
            let (mut due, mut slices) = (Instant::now(), Vec::with_capacity(10_000));
            while !stopped.load(Ordering::Relaxed) {
                due += PERIOD;
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
                let began = Instant::now();
                while began.elapsed() < SLICE {
                    std::hint::spin_loop();
                }
                slices.push(began.elapsed());
            }
            slices
        };
        let thread = std::thread::Builder::new().name("known-thief".into()).spawn(steals).unwrap();
        Self { stop, thread: Some(thread) }
    }

    /// Ends it; how long a slice of its was by its own account, ns. On a busy host some are longer than they should be.
    fn stop(mut self) -> f64 {
        self.stop.store(true, Ordering::Relaxed);
        let slices = self.thread.take().unwrap().join().unwrap();
        slices.iter().map(Duration::as_nanos).sum::<u128>() as f64 / slices.len() as f64
    }
}

impl Drop for Thief {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

#[test]
#[ignore = "ground truth: needs root, BPF and two CPUs; run by `make test`"]
fn a_thief_of_known_slices_is_named_with_its_time() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: real-time priority needs root");
    }
    let thief = Thief::on(1);
    let measured = noise(&["--cpu", "1", "--for", "3s"]);
    let slice_ns = thief.stop();
    let Some(measured) = measured else { return };
    adds_up(&measured);
    let cpu = cpu(&measured, 1);
    let slices = number(&cpu["window_s"]) / PERIOD.as_secs_f64();
    let tasks = cpu["tasks"].as_array().unwrap();
    let took_ns: f64 =
        tasks.iter().filter(|task| task["comm"] == "known-thief").map(|task| number(&task["took_ns"])).sum();
    // Interrupts within its slices are not its time, and what the hypervisor takes from it is.
    let truth_ns = slices * slice_ns;
    assert!((0.9 * truth_ns..1.1 * truth_ns).contains(&took_ns), "{took_ns} {truth_ns} {tasks:?}");
    let others = cause(cpu, "other_tasks");
    assert!(number(&others["gaps"]) > 0.9 * slices && number(&others["net_ns"]) > 0.9 * took_ns, "{others}");
    assert!(number(&cpu["above_100_us"]) > 0.9 * slices, "{cpu:#}");
}

#[test]
#[ignore = "ground truth: needs root and BPF; run by `make test`"]
fn the_tick_makes_a_gap_each_time_and_is_known_inside_it() {
    let Some(measured) = noise(&["--cpu", "0", "--for", "4s", "--fifo"]) else { return };
    adds_up(&measured);
    let cpu = cpu(&measured, 0);
    let (ticks, tick) = (number(&cpu["ticks"]), cause(cpu, "tick"));
    assert!(number(&tick["events"]) >= 0.97 * ticks, "{tick} of {ticks}");
    // Several ticks can fall into one gap when the fair server gives the CPU to others.
    assert!(number(&tick["gaps"]) >= 0.85 * ticks, "{tick} of {ticks}");
    if let Some(hz) = Machine::read(&Root::live()).kernel.hz {
        // The hypervisor takes some.
        assert!(number(&cpu["ticks_per_s"]) >= 0.7 * f64::from(hz), "{}", cpu["ticks_per_s"]);
    }
    let alone = &tick["alone"];
    assert!(
        number(&alone["mean_net_ns"]) > 0.0 && number(&alone["mean_gap_ns"]) > number(&alone["mean_net_ns"])
    );
    assert!(number(&cpu["loop_cost"]["step_ns"]) < 1_000.0, "{}", cpu["loop_cost"]);
}

#[test]
fn cpus_that_are_not_there_and_lengths_that_are_none_are_usage_faults() {
    for wrong in
        [["--cpu", "70000"], ["--cpu", "0-x"], ["--for", "0s"], ["--threshold", "1"], ["--threshold", "1ns"]]
    {
        let output = command(&wrong).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{wrong:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_signal_ends_it_with_the_documented_code_and_no_output() {
    let first = Machine::read(&Root::live()).usable().first().unwrap().to_string();
    let child = command(&["--cpu", &first, "--for", "60s"]).spawn().unwrap();
    let tasks = format!("/proc/{}/task", child.id());
    while std::fs::read_dir(&tasks).unwrap().count() < 2 {
        std::thread::sleep(Duration::from_millis(10));
    }
    let pid = rustix::process::Pid::from_raw(child.id() as i32).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::INT).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130), "{}", String::from_utf8_lossy(&output.stderr));
    assert!(output.stdout.is_empty());
}

#[test]
fn without_root_gaps_are_measured_and_counts_of_proc_stand_beside_them() {
    let run = |words: &[&str]| {
        let mut command = command(words);
        if rustix::process::geteuid().is_root() {
            command.uid(NOBODY).gid(NOBODY).current_dir("/");
        }
        command.output()
    };
    let Ok(output) = run(&["--for", "300ms", "--format", "json"]) else {
        return eprintln!("skipped: the binary lies where others cannot run it");
    };
    let measured = document(&output);
    if measured["joined_to"] == "events" {
        return eprintln!("skipped: here everybody may load programs into the kernel");
    }
    assert!(
        measured["missing"].to_string().contains("what happens inside of gaps"),
        "{}",
        measured["missing"]
    );
    for cpu in measured["cpus"].as_array().unwrap() {
        assert!(cpu["causes"].as_array().unwrap().is_empty() && cpu["entry_and_exit_ns"].is_null());
        assert!(number(&cpu["window_s"]) >= 0.3 && cpu["gaps"].is_u64());
    }
    let refused = run(&["--for", "300ms", "--fifo"]).unwrap();
    let stderr = String::from_utf8_lossy(&refused.stderr);
    if refused.status.success() {
        return eprintln!("skipped: here everybody may be real-time");
    }
    assert!(
        refused.status.code() == Some(3) && stderr.contains("SCHED_FIFO") && stderr.contains("ulimit -r"),
        "{stderr}"
    );
}
