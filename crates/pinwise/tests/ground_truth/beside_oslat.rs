//! `pinwise noise` beside oslat (Debian package rt-tests): both see the time that a thief of known slices takes.
//!
//! What else runs on the machine makes further gaps, and may hide slices of the thief within them; it takes none of the thief's time
//! away. So the sums are compared, and not the numbers of gaps.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::noise::{PERIOD, SLICE, Thief};

const CPU: u32 = 1;
const SECONDS: f64 = 3.0;

/// Time in gaps above 1 us, and the longest gap, us.
struct Gaps {
    sum_us: f64,
    longest_us: f64,
}

fn json(command: &mut Command) -> Option<Value> {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).ok()
}

fn by_pinwise() -> Gaps {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pinwise"));
    command.args(["noise", "--format", "json", "--cpu", &CPU.to_string(), "--for", &format!("{SECONDS}s")]);
    let told = json(&mut command).unwrap();
    let cpu = &told["cpus"][0];
    let us = |key: &str| cpu[key].as_f64().unwrap() / 1e3;
    Gaps { sum_us: us("gap_ns"), longest_us: us("longest_gap_ns") }
}

/// Its buckets are whole us, rounded up: all steps of its loop that took up to 1 us are in the first. What is in the last is longer than
/// its name says, so the sum comes from the mean of all.
fn by_oslat() -> Gaps {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("oslat.json");
    let mut command = Command::new("oslat");
    command.args(["--quiet", "--cpu-list", &CPU.to_string(), "--duration", &format!("{SECONDS}")]);
    json(command.arg(format!("--json={}", file.display())));
    let told: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let thread = &told["thread"]["0"];
    let buckets = thread["histogram"].as_object().unwrap();
    let steps: f64 = buckets.values().map(|count| count.as_f64().unwrap()).sum();
    let short = buckets.get("1").and_then(Value::as_f64).unwrap_or(0.0);
    let sum_us = thread["avg"].as_f64().unwrap() * steps - short;
    Gaps { sum_us, longest_us: thread["max"].as_f64().unwrap() }
}

#[test]
#[ignore = "ground truth: needs root, two CPUs and oslat; run by `make test`"]
fn both_see_the_time_of_a_thief() {
    if !rustix::process::geteuid().is_root() {
        return eprintln!("skipped: real-time priority needs root");
    }
    if Command::new("oslat").arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        return eprintln!("skipped: oslat is not installed (apt-get install rt-tests)");
    }
    let thief = Thief::on(CPU);
    let found = [("pinwise", by_pinwise()), ("oslat", by_oslat())];
    drop(thief);
    let slice_us = SLICE.as_secs_f64() * 1e6;
    let stolen_us = SECONDS / PERIOD.as_secs_f64() * slice_us;
    for (who, gaps) in found {
        assert!(gaps.sum_us > 0.9 * stolen_us, "{who}: {} us in gaps, {stolen_us} us stolen", gaps.sum_us);
        assert!(gaps.longest_us > 0.9 * slice_us, "{who}: {} us", gaps.longest_us);
    }
}
