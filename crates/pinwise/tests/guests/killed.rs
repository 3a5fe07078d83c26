//! SIGKILL at points of an apply and of an undo in a guest of two nodes: what this machine does not have (nodes, lines of a card, its queues)
//! comes back too, whatever point is the last. The test's own program runs in the guest and does there what it does here.

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use machine::{Plan, Root, knobs};

use crate::guest;
use crate::killing::{self, Tried, Victim};

/// Asks for this test, which takes a quarter of an hour and more where the host is busy: ptrace in an emulated guest is slow.
const ASKED: &str = "PINWISE_TEST_KILLED_GUEST";

/// Set in the guest alone.
const INSIDE: &str = "PINWISE_TEST_INSIDE";

/// A guest is emulated, and slow: so many points of the apply and of the undo, evenly chosen.
const OF_APPLY: usize = 6;
const OF_UNDO: usize = 2;

/// At one of so many of these the whole machine is compared.
const WHOLE_STEP: usize = 2;

/// Time that all of it has.
const LIMIT: Duration = Duration::from_secs(900);

/// Processes whose settings are changed.
const SLEEPERS: usize = 2;

/// Targets that stand for others: each sleeper, and a receiving line of the card.
const EACH: &str = "each sleeper";
const LINE: &str = "a line of the card";

/// Settings by knob, target and two values: the second is for where the first is so already.
const SETTINGS: &[(&str, &str, [&str; 2])] = &[
    ("process-affinity", EACH, ["2", "3"]),
    ("scheduling-policy", EACH, ["batch:3", "batch:4"]),
    ("oom-score", EACH, ["300", "301"]),
    ("io-priority", EACH, ["best-effort:6", "best-effort:5"]),
    ("irq-affinity", LINE, ["5", "6"]),
    ("irq-default-affinity", "machine", ["0-3", "0-2"]),
    ("rps-cpus", "eth0/rx-0", ["1-2", "0"]),
    ("xps-cpus", "eth0/tx-0", ["1-2", "0"]),
    ("rps-flow-count", "eth0/rx-0", ["64", "128"]),
    ("numa-balancing", "machine", ["off", "on"]),
    ("zone-reclaim", "machine", ["1", "0"]),
    ("transparent-huge-pages", "machine", ["never", "always"]),
    ("workqueue-cpus", "machine", ["0-3", "0-2"]),
    ("watchdog-cpus", "machine", ["0-3", "0-2"]),
    ("timer-migration", "machine", ["off", "on"]),
    ("swappiness", "machine", ["59", "61"]),
    ("dirty-ratio", "machine", ["21", "22"]),
    ("dirty-background-bytes", "machine", ["67108864", "33554432"]),
    ("vm-stat-interval", "machine", ["2", "3"]),
    ("busy-poll", "machine", ["1", "2"]),
    ("netdev-budget", "machine", ["310", "320"]),
    ("rps-sock-flow-entries", "machine", ["1024", "2048"]),
    ("rt-runtime", "machine", ["960000", "970000"]),
];

/// Processes that end with it.
struct Sleepers(Vec<Child>);

impl Drop for Sleepers {
    fn drop(&mut self) {
        for sleeper in &mut self.0 {
            let _ = sleeper.kill();
            let _ = sleeper.wait();
        }
    }
}

fn plan(root: &Root, sleepers: &Sleepers) -> Plan {
    let lines = knobs::find("irq-affinity").unwrap().targets(root).unwrap();
    let line = lines.into_iter().find(|line| line.what.contains("input")).map(|line| line.id);
    let mut settings = Vec::new();
    for (knob, target, values) in SETTINGS {
        let targets = match *target {
            EACH => sleepers.0.iter().map(|sleeper| sleeper.id().to_string()).collect(),
            LINE => line.iter().cloned().collect(),
            target => vec![target.to_string()],
        };
        settings.extend(targets.iter().filter_map(|target| killing::planned(root, knob, target, values)));
    }
    Plan { purpose: Some("a test".into()), settings, ..Plan::default() }
}

fn report(what: &str, tried: &Tried) {
    let Tried { points, chosen, restored, whole, .. } = tried;
    assert_eq!(restored, chosen, "{what}: of {points} points");
    println!(
        "{what}: killed at {restored} of {points} points, restored {restored} times, the whole machine compared {whole} times"
    );
}

#[test]
#[ignore = "what the next test runs in its guest"]
fn inside() {
    if std::env::var_os(INSIDE).is_none() {
        eprintln!("skipped: this is for a guest, which another test boots");
        return;
    }
    let dir = tempfile::tempdir_in("/tmp").unwrap();
    let path = dir.path().join("plan.toml").display().to_string();
    let sleeper = |_| Command::new("sleep").arg("3000").stdin(Stdio::null()).spawn().unwrap();
    let sleepers = Sleepers((0..SLEEPERS).map(sleeper).collect());
    let plan = plan(&Root::live(), &sleepers);
    std::fs::write(&path, plan.to_toml().unwrap()).unwrap();
    let command = |words: &[&str]| {
        let mut command = Command::new("pinwise");
        command.args(words).env("PINWISE_STATE_DIR", dir.path().join("state"));
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let begun = Instant::now();
    let on_the_way = |line: &str| println!("after {:.0} s: {line}", begun.elapsed().as_secs_f64());
    let victim =
        |most| Victim { plan: &plan, command: &command, most, whole_step: WHOLE_STEP, progress: &on_the_way };
    println!("{} settings of {} kinds", plan.settings.len(), killing::kinds(&plan));
    report("apply", &victim(OF_APPLY).at_each_point(&[], &["apply", &path]));
    report("undo", &victim(OF_UNDO).at_each_point(&[&["apply", &path]], &["undo"]));
}

#[test]
#[ignore = "boots a guest under QEMU; for who sets PINWISE_TEST_KILLED_GUEST"]
fn a_guest_of_two_nodes_is_as_it_was_whatever_point_is_the_last() {
    if !cfg!(target_arch = "x86_64") {
        eprintln!("skipped: system calls are distinguished on x86_64 alone");
        return;
    }
    if std::env::var_os(ASKED).is_none() {
        eprintln!("skipped: it takes too long for every run; {ASKED}=1 asks for it");
        return;
    }
    let Some(guest) = guest::like("two-node-smt") else { return };
    let guest = guest.program_as("tests", std::env::current_exe().unwrap()).limit(LIMIT);
    let script = format!("{INSIDE}=1 tests --ignored --exact --nocapture killed::inside 2>&1");
    let outcome = guest::run(&guest, &script);
    let text = outcome.text();
    let number = |before: &str| -> usize {
        let line =
            text.lines().find(|line| line.contains(before)).unwrap_or_else(|| panic!("{before}: {text}"));
        line.split_whitespace().next().unwrap().parse().unwrap()
    };
    assert!(number(" settings of ") >= 20, "{text}");
    let tried =
        |what: &str| text.lines().find(|line| line.starts_with(what)).unwrap_or_else(|| panic!("{text}"));
    eprintln!("{}\n{}", tried("apply: killed"), tried("undo: killed"));
}
