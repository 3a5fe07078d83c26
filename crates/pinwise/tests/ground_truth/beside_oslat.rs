//! `pinwise noise` beside oslat (Debian package rt-tests) and a loop in the way of sysjitter: in rounds of an order drawn anew, each meets a
//! thief of known slices, and each has to find the thief's time in its gaps, and little else.
//!
//! All three have real-time priority below the thief's, so that other tasks of the machine come only for as long as the kernel gives them of
//! each second. They may hide slices of the thief within longer gaps, and take none of its time away. So the sums are compared, and not
//! the numbers of gaps.

use std::process::{Command, Stdio};

use serde_json::Value;

use crate::watched::actor::{Actor, Slice, Until, now_ns, sleep_until};

const CPU: u32 = 1;
const SECONDS: f64 = 3.0;
const ROUNDS: usize = 3;
const TRIES: usize = 3;

const PERIOD_NS: u64 = 5_000_000;
const SLICE_NS: u64 = 2_000_000;
/// SCHED_FIFO: pinwise takes the lowest.
const TOOLS: u32 = 1;
const THIEF: u32 = 20;

/// How far a sum may be off what the thief says of its own time.
const OFF: f64 = 0.03;
/// What ordinary tasks get of the time although others with real-time priority want all of it: 50 ms of each second (the fair server of
/// the kernel, and sched_rt_runtime_us before 6.12).
const OF_ORDINARY_TASKS: f64 = 0.05;
/// Ticks, other interrupts, and what the host takes.
const OF_INTERRUPTS_AND_HOST: f64 = 0.05;

/// Time in gaps above 1 us of all that was measured, and the longest gap, us.
struct Gaps {
    share: f64,
    longest_us: f64,
}

/// Takes the CPU for a slice of each period; what it took is its own account, times included in which it lost the CPU itself.
fn steal(until: &Until) -> Vec<Slice> {
    let mut slices = Vec::with_capacity(10_000);
    let mut due_ns = now_ns();
    while until.goes_on() {
        due_ns += PERIOD_NS;
        sleep_until(due_ns);
        let from_ns = now_ns();
        while now_ns() < from_ns + SLICE_NS {}
        slices.push(Slice { from_ns, to_ns: now_ns() });
        // One that comes late leaves out what it missed.
        due_ns = due_ns.max(now_ns().saturating_sub(PERIOD_NS));
    }
    slices
}

/// Which share of the time it had, from its first slice to its last.
fn stolen_share(slices: &[Slice]) -> f64 {
    let (first, last) = (slices[0], slices[slices.len() - 1]);
    let stolen_ns: u64 = slices[..slices.len() - 1].iter().map(|slice| slice.to_ns - slice.from_ns).sum();
    stolen_ns as f64 / (last.from_ns - first.from_ns) as f64
}

fn json(command: &mut Command) -> Option<Value> {
    let output = command.stdin(Stdio::null()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).ok()
}

fn by_pinwise() -> Gaps {
    let mut command = Command::new(env!("CARGO_BIN_EXE_pinwise"));
    command.args(["noise", "--fifo", "--format", "json", "--cpu", &CPU.to_string()]);
    let reported = json(command.args(["--for", &format!("{SECONDS}s")])).unwrap();
    let cpu = &reported["cpus"][0];
    Gaps { share: cpu["share"].as_f64().unwrap(), longest_us: cpu["longest_gap_ns"].as_f64().unwrap() / 1e3 }
}

/// Its buckets are whole us, rounded up: all steps of its loop that took up to 1 us are in the first. What is in the last is longer than
/// its name says, so the sum comes from the mean of all. It is held against the time that it measured for: on a busy machine it begins late.
fn by_oslat() -> Gaps {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("oslat.json");
    let mut command = Command::new("oslat");
    command.args(["--quiet", "--cpu-list", &CPU.to_string(), "--duration", &format!("{SECONDS}")]);
    command.args(["--rtprio", &TOOLS.to_string()]);
    json(command.arg(format!("--json={}", file.display())));
    let reported: Value = serde_json::from_slice(&std::fs::read(file).unwrap()).unwrap();
    let thread = &reported["thread"]["0"];
    let buckets = thread["histogram"].as_object().unwrap();
    let steps: f64 = buckets.values().map(|count| count.as_f64().unwrap()).sum();
    let short = buckets.get("1").and_then(Value::as_f64).unwrap_or(0.0);
    let sum_us = thread["avg"].as_f64().unwrap() * steps - short;
    let measured_us = thread["duration"].as_f64().unwrap() * 1e6;
    Gaps { share: sum_us / measured_us, longest_us: thread["max"].as_f64().unwrap() }
}

/// Reads the clock again and again, and adds up what lies between two readings that are more than 1 us apart.
fn by_a_loop() -> Gaps {
    let keeper = Actor::start_fifo("gap-loop", CPU, TOOLS, |_| {
        let from_ns = now_ns();
        let (mut last_ns, mut sum_ns, mut longest_ns) = (from_ns, 0, 0);
        while last_ns - from_ns < (SECONDS * 1e9) as u64 {
            let at_ns = now_ns();
            let gap_ns = at_ns - last_ns;
            if gap_ns > 1_000 {
                sum_ns += gap_ns;
                longest_ns = longest_ns.max(gap_ns);
            }
            last_ns = at_ns;
        }
        Gaps { share: sum_ns as f64 / (last_ns - from_ns) as f64, longest_us: longest_ns as f64 / 1e3 }
    });
    keeper.stop()
}

type Tool = (&'static str, fn() -> Gaps);

/// In one of the six orders.
fn shuffled([a, b, c]: [Tool; 3]) -> [Tool; 3] {
    match now_ns() / 1_000 % 6 {
        0 => [a, b, c],
        1 => [a, c, b],
        2 => [b, a, c],
        3 => [b, c, a],
        4 => [c, a, b],
        _ => [c, b, a],
    }
}

/// One tool under a thief of its own; whether it found no more than the thief and what always comes beside. It must never find less.
fn finds_little_else((who, measure): Tool) -> bool {
    let thief = Actor::start_fifo("known-thief", CPU, THIEF, steal);
    let gaps = measure();
    let stolen = stolen_share(&thief.stop());
    eprintln!(
        "{who}: {:.4} of the time in gaps, {stolen:.4} stolen, longest {} us",
        gaps.share, gaps.longest_us
    );
    assert!(gaps.share > stolen * (1.0 - OFF), "{who}: {} of the time in gaps, {stolen} stolen", gaps.share);
    assert!(gaps.longest_us > 0.9 * SLICE_NS as f64 / 1e3, "{who}: {} us", gaps.longest_us);
    gaps.share < stolen * (1.0 + OFF) + OF_ORDINARY_TASKS + OF_INTERRUPTS_AND_HOST
}

/// Other real-time tasks of the machine take what they like, and a tool that reports them is right: then it is measured once more. What a tool
/// adds of its own is there each time.
fn meets_a_thief(tool: Tool) {
    let found = (0..TRIES).any(|_| finds_little_else(tool));
    assert!(found, "{}: more in gaps than was taken, {TRIES} times", tool.0);
}

/// `make soak`: they take long, and shorter tests cover their parts.
mod soak {
    use super::*;

    #[test]
    #[ignore = "ground truth: needs root, two CPUs and oslat; run by `make soak`"]
    fn each_sees_the_time_of_a_thief_and_little_else() {
        if !rustix::process::geteuid().is_root() {
            return eprintln!("skipped: real-time priority needs root");
        }
        if Command::new("oslat")
            .arg("--version")
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status()
            .is_err()
        {
            return eprintln!("skipped: oslat is not installed (apt-get install rt-tests)");
        }
        for _ in 0..ROUNDS {
            let tools: [Tool; 3] = [("pinwise", by_pinwise), ("oslat", by_oslat), ("loop", by_a_loop)];
            shuffled(tools).into_iter().for_each(meets_a_thief);
        }
    }
}
