//! `pinwise ticks` on this kernel: what a CPU that spins takes, what is said where the kernel cannot count reasons, and
//! that nothing of ours stays behind in tracefs.

// clippy knows only functions marked #[test] as tests; these helpers serve them.
#![allow(clippy::unwrap_used)]

use std::process::{Command, Output, Stdio};
use std::time::Duration;

use machine::{Machine, Root};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

fn ticks(words: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pinwise"));
    command.arg("ticks").args(words).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn stdout(output: &Output) -> &str {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    std::str::from_utf8(&output.stdout).unwrap()
}

/// A usable CPU that is not in nohz_full; none where the kernel does not report it.
fn ordinary_cpu(machine: &Machine) -> Option<u32> {
    machine.usable().difference(machine.kernel.nohz_full.as_ref()?).last()
}

#[test]
fn an_ordinary_cpu_that_spins_ticks_and_no_tracing_is_needed_to_say_why() {
    let machine = Machine::read(&Root::live());
    let (Some(cpu), Some(hz)) = (ordinary_cpu(&machine), machine.kernel.hz) else {
        return eprintln!("skipped: this kernel does not report CONFIG_HZ and nohz_full");
    };
    let of_cpu = cpu.to_string();
    let output =
        ticks(&["--cpu", &of_cpu, "--for", "2s", "--spin", "1", "--format", "json"]).output().unwrap();
    let seen: Value = serde_json::from_str(stdout(&output)).unwrap();
    let this = &seen["cpus"][0];
    let Some(rate) = this["ticks_per_s"].as_f64() else {
        return eprintln!("skipped: {}", seen["missing"]);
    };
    // A guest whose CPUs are taken away loses ticks; timers of others come beside them.
    assert!(rate > f64::from(hz) / 4.0, "{this}");
    assert!(this["busy"].as_f64().unwrap() > 0.9, "{this}");
    assert_eq!((&this["nohz_full"], &this["verdict"]), (&Value::Bool(false), &"kept-as-everywhere".into()));
    assert!(this["words"].as_str().unwrap().starts_with("not in nohz_full"), "{this}");
    // Counted, or missing with its reason; never both, never neither.
    let missing = seen["missing"].as_array().unwrap();
    let told_missing = missing.iter().any(|missing| missing["fact"] == "why ticks did not stop");
    assert_ne!(this["kept"].is_array(), told_missing, "{seen}");
}

#[test]
fn a_cpu_that_is_not_there_and_a_window_that_is_none_are_usage_faults() {
    for wrong in [["--cpu", "70000"], ["--cpu", ""], ["--cpu", "0-x"], ["--for", "0s"], ["--spin", "99"]] {
        let rest = [["--cpu", "0"], ["--for", "1s"]].into_iter().filter(|flag| flag[0] != wrong[0]);
        let words: Vec<&str> = rest.chain([wrong]).flatten().collect();
        let output = ticks(&words).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{words:?}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[test]
fn a_signal_ends_it_with_the_code_that_is_documented() {
    let cpu = Machine::read(&Root::live()).usable().first().unwrap().to_string();
    let mut child = ticks(&["--cpu", &cpu, "--for", "60s", "--spin", "1"]).spawn().unwrap();
    // Its spinning thread is there: so is what takes signals.
    let task = format!("/proc/{}/task", child.id());
    while std::fs::read_dir(&task).unwrap().count() < 2 {
        assert!(child.try_wait().unwrap().is_none());
        std::thread::sleep(Duration::from_millis(10));
    }
    kill_process(Pid::from_raw(child.id() as i32).unwrap(), Signal::INT).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

/// Runs a script in a mount namespace of its own that has tracefs; `None` where that is not allowed or not possible.
fn beside_tracefs(script: &str) -> Option<Output> {
    let mount = "mount -t tracefs tracefs /sys/kernel/tracing || exit 77";
    let script = format!("{mount}\n{script}");
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-euc", &script]).env("PINWISE", env!("CARGO_BIN_EXE_pinwise"));
    let output = command.stdin(Stdio::null()).output().ok()?;
    match rustix::process::geteuid().is_root() && output.status.code() != Some(77) {
        true => Some(output),
        false => {
            eprintln!(
                "skipped: it takes root, and a kernel with tracefs and, for some, histograms: {}",
                String::from_utf8_lossy(&output.stderr)
            );
            None
        }
    }
}

const HIST: &str = "/sys/kernel/tracing/events/timer/tick_stop/hist";

#[test]
fn reasons_are_counted_or_the_kernel_option_that_it_takes_is_named_and_nothing_stays_behind() {
    let cpu = Machine::read(&Root::live()).usable().first().unwrap();
    let script = format!(
        "\"$PINWISE\" ticks --cpu {cpu} --for 1s --format json & wait $!
         ls -d /sys/kernel/tracing/instances/pinwise-$!-* >&2 || true
         test -e {HIST} || echo 'no histograms' >&2"
    );
    let Some(output) = beside_tracefs(&script) else { return };
    let seen: Value = serde_json::from_str(stdout(&output)).unwrap();
    let notes = String::from_utf8_lossy(&output.stderr);
    assert!(!notes.contains("instances/pinwise-") || notes.contains("No such file"), "{notes}");
    match notes.contains("no histograms") {
        true => assert!(seen["missing"].to_string().contains("CONFIG_HIST_TRIGGERS"), "{seen}"),
        false => assert!(seen["cpus"][0]["kept"].is_array(), "{seen}"),
    }
}

#[test]
fn what_a_killed_one_left_behind_is_removed_by_the_next() {
    // The instance of the first is there while it lives, also for the second; the third removes it.
    let script = format!(
        "test -e {HIST} || exit 77
         \"$PINWISE\" ticks --cpu 0 --for 60s & PID=$!
         OF=/sys/kernel/tracing/instances/pinwise-$PID-0
         until [ -e $OF/tracing_on ]; do sleep 0.1; kill -0 $PID; done
         \"$PINWISE\" ticks --cpu 0 --for 0.1s; test -d $OF
         kill -9 $PID; wait $PID || true; test -d $OF
         \"$PINWISE\" ticks --cpu 0 --for 0.1s; test ! -e $OF"
    );
    if let Some(output) = beside_tracefs(&script) {
        stdout(&output);
    }
}
