//! A plan of many kinds of setting on this machine, on things that the test made for it where that can be.

use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use machine::{Plan, Root};

use crate::killing;
use crate::pinwise::Bench;
use crate::testbed::Testbed;

/// Processes whose settings are changed: they sleep, each in a session of its own.
const SLEEPERS: usize = 2;

/// The target that stands for each of them.
const EACH: &str = "each sleeper";

/// Settings by knob, target and two values: the second is for where the first is so already.
const SETTINGS: &[(&str, &str, [&str; 2])] = &[
    ("process-affinity", EACH, ["0", "1"]),
    ("scheduling-policy", EACH, ["batch:3", "batch:4"]),
    ("oom-score", EACH, ["300", "301"]),
    ("autogroup-nice", EACH, ["2", "3"]),
    ("io-priority", EACH, ["best-effort:6", "best-effort:5"]),
    ("rps-cpus", "rx-0", ["1", "0"]),
    ("xps-cpus", "tx-0", ["1", "0"]),
    ("rps-flow-count", "rx-0", ["64", "128"]),
    ("swappiness", "machine", ["59", "61"]),
    ("dirty-ratio", "machine", ["21", "22"]),
    ("dirty-background-ratio", "machine", ["9", "8"]),
    ("dirty-expire", "machine", ["3100", "3200"]),
    ("dirty-writeback", "machine", ["510", "520"]),
    ("vm-stat-interval", "machine", ["2", "3"]),
    ("netdev-max-backlog", "machine", ["1010", "1020"]),
    ("netdev-budget", "machine", ["310", "320"]),
    ("busy-poll", "machine", ["1", "2"]),
    ("busy-read", "machine", ["1", "2"]),
    ("rps-sock-flow-entries", "machine", ["1024", "2048"]),
    ("timer-migration", "machine", ["off", "on"]),
    ("rt-runtime", "machine", ["960000", "970000"]),
    ("autogroup", "machine", ["off", "on"]),
    ("zone-reclaim", "machine", ["0", "1"]),
    ("transparent-huge-pages", "machine", ["madvise", "never"]),
    ("workqueue-cpus", "machine", ["0", "1"]),
    ("writeback-cpus", "machine", ["0", "1"]),
    ("irq-default-affinity", "machine", ["0", "1"]),
];

/// The plan, what it is about, and the folder that it lies in.
pub struct BenchPlan {
    pub bench: Bench,
    pub plan: Plan,
    root: Root,
    sleepers: Vec<Child>,
    _bed: Testbed,
}

impl BenchPlan {
    /// Makes it; `None`, with a word, where the test cannot be run.
    pub fn new() -> Option<Self> {
        let bed = Testbed::new()?;
        let root = Root::live();
        let sleeper = || Command::new("setsid").args(["sleep", "1200"]).stdin(Stdio::null()).spawn().unwrap();
        let sleepers: Vec<Child> = (0..SLEEPERS).map(|_| sleeper()).collect();
        wait_until_asleep(&sleepers);
        let mut settings = Vec::new();
        for (knob, target, values) in SETTINGS {
            let targets = match *target {
                EACH => sleepers.iter().map(|sleeper| sleeper.id().to_string()).collect(),
                "rx-0" | "tx-0" => vec![format!("{}:vs/{target}", bed.server)],
                target => vec![target.to_string()],
            };
            for target in targets {
                settings.extend(killing::planned(&root, knob, &target, values));
            }
        }
        let bench = Bench::in_memory();
        let plan = Plan { purpose: Some("a test".into()), settings, ..Plan::default() };
        let made = Self { bench, plan, root, sleepers, _bed: bed };
        std::fs::write(made.path(), made.plan.to_toml().unwrap()).unwrap();
        Some(made)
    }

    /// The same with the settings of these knobs alone.
    pub fn only(mut self, knobs: &[&str]) -> Self {
        self.plan.settings.retain(|setting| knobs.contains(&setting.knob.as_str()));
        std::fs::write(self.path(), self.plan.to_toml().unwrap()).unwrap();
        self
    }

    /// The plan's file.
    pub fn path(&self) -> PathBuf {
        self.bench.case().with_file_name("plan.toml")
    }

    /// Kinds of knob in it.
    pub fn kinds(&self) -> usize {
        killing::kinds(&self.plan)
    }

    /// What each setting reads now.
    pub fn readings(&self) -> Vec<String> {
        killing::readings(&self.root, &self.plan)
    }

    /// Runs `pinwise` with these words; it must succeed, or what it said is reported.
    #[track_caller]
    pub fn succeeds(&self, words: &[&str]) {
        let done = self.bench.run(words);
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(done.status.success(), "pinwise {}: {}: {said}", words.join(" "), done.status);
    }

    /// `pinwise` with these words, for the plan's own state folder.
    pub fn command(&self, words: &[&str]) -> Command {
        let mut command = self.bench.command(words);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    }
}

impl Drop for BenchPlan {
    fn drop(&mut self) {
        // Whatever a failed test left behind.
        let _ = self.command(&["undo", "--force"]).status();
        for sleeper in &mut self.sleepers {
            let _ = sleeper.kill();
            let _ = sleeper.wait();
        }
    }
}

/// Until setsid(1) has become sleep(1): what it did before is not to be seen as a change.
fn wait_until_asleep(sleepers: &[Child]) {
    for sleeper in sleepers {
        let name = || std::fs::read_to_string(format!("/proc/{}/comm", sleeper.id())).unwrap_or_default();
        while name().trim() != "sleep" {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
    }
}
