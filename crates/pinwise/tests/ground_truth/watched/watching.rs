//! `pinwise watch` beside actors: it and the test stay on the first CPU, the actors have the last one.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::process::{Child, Command, Output, Stdio};
use std::sync::{Mutex, MutexGuard};
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde_json::Value;

use super::actor::pin;
use crate::pinwise::Bench;

/// One test at a time: they stand in each other's way.
static ALONE: Mutex<()> = Mutex::new(());

/// Programs that watch attaches; when so many are there, counting is about to begin.
const PROGRAMS: usize = 30;

/// The two CPUs, and the test's own affinity, which is put back at the end.
pub struct Stage {
    /// CPU of the test, of pinwise and of everything that must not disturb.
    pub aside: u32,
    /// CPU of the actors.
    pub cpu: u32,
    before: CpuSet,
    bench: Bench,
    _alone: MutexGuard<'static, ()>,
}

impl Stage {
    /// Sets the stage, or says why the test is skipped.
    pub fn new() -> Option<Self> {
        let alone = ALONE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
        if !rustix::process::geteuid().is_root() {
            eprintln!("skipped: kernel events need root");
            return None;
        }
        let before = sched_getaffinity(None).unwrap();
        let cpus: Vec<u32> = (0..CpuSet::MAX_CPU as u32).filter(|cpu| before.is_set(*cpu as usize)).collect();
        let (aside, cpu) = (cpus[0], cpus[cpus.len() - 1]);
        if aside == cpu {
            eprintln!("skipped: there is one CPU only, and actors need one of their own");
            return None;
        }
        pin(aside);
        Some(Self { aside, cpu, before, bench: Bench::new(), _alone: alone })
    }

    /// Watches, with these flags, for the whole window.
    pub fn watch(&self, flags: &[&str]) -> Sheet {
        self.begin(flags).end()
    }

    /// Begins to watch; returns when counting has begun.
    pub fn begin(&self, flags: &[&str]) -> Watching {
        self.begin_to(&[&["--format", "json"], flags].concat())
    }

    /// The same without a form of the output.
    pub fn begin_to(&self, flags: &[&str]) -> Watching {
        let arguments = [&["watch"], flags].concat();
        let mut command = self.bench.command(&arguments);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let watching = Watching(child);
        let deadline = Instant::now() + Duration::from_secs(20);
        while watching.programs() < PROGRAMS && Instant::now() < deadline {
            std::thread::sleep(Duration::from_millis(10));
        }
        std::thread::sleep(Duration::from_millis(400));
        watching
    }

    /// The command itself, for what goes wrong.
    pub fn command(&self, arguments: &[&str]) -> Command {
        self.bench.command(arguments)
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = sched_setaffinity(None, &self.before);
    }
}

thread_local! {
    /// Switches that the kernel did not report, by the last sheet.
    static MISSED: Cell<u64> = const { Cell::new(0) };
}

/// With so many switches missed, other events are missing as well.
const MISSED_AT_MOST: u64 = 4;

/// Runs a case; once more, five times at most, where it failed and the sheet itself says that the kernel did not report what went on:
/// now and then it reports nothing at all about a CPU, for some ms (docs/journal/0012).
pub fn retried_where_switches_are_missed(case: impl Fn()) {
    for _ in 1..5 {
        MISSED.set(0);
        let Err(why) = catch_unwind(AssertUnwindSafe(&case)) else { return };
        if MISSED.get() <= MISSED_AT_MOST {
            resume_unwind(why);
        }
        eprintln!("the kernel did not report {} switches meanwhile: once more", MISSED.get());
    }
    case();
}

/// The same for output that mentions such switches in words alone, on stderr.
pub fn note_missed_switches(words: &str) {
    let counts = words.split("the kernel did not report ").skip(1).filter_map(|rest| {
        let digits = rest.split(|letter: char| !letter.is_ascii_digit()).next()?;
        digits.parse::<u64>().ok()
    });
    MISSED.set(counts.sum());
}

/// A watch that goes on.
pub struct Watching(Child);

impl Watching {
    /// Programs in the kernel that it holds.
    fn programs(&self) -> usize {
        let held = std::fs::read_dir(format!("/proc/{}/fd", self.0.id())).into_iter().flatten().flatten();
        let links = held.filter_map(|fd| std::fs::read_link(fd.path()).ok());
        links
            .filter(|link| link.to_string_lossy().contains("bpf") && link.to_string_lossy().contains("link"))
            .count()
    }

    /// Ends it at once, as nothing else can: SIGKILL.
    pub fn kill(mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }

    /// Waits for its end, where it prints nothing.
    pub fn ends(mut self) {
        let status = self.0.wait().unwrap();
        assert!(status.success(), "pinwise watch: {status}");
    }

    /// Waits for its end.
    pub fn end(self) -> Sheet {
        Sheet::of(self.0.wait_with_output().unwrap())
    }
}

impl Sheet {
    /// What a command printed.
    pub fn of(Output { status, stdout, stderr }: Output) -> Self {
        let stderr = String::from_utf8_lossy(&stderr).into_owned();
        assert!(status.success(), "pinwise watch: {status}\n{stderr}");
        let json: Value = serde_json::from_slice(&stdout).unwrap_or_else(|e| panic!("{e}: {stderr}"));
        for missing in json["missing"].as_array().into_iter().flatten() {
            eprintln!("missing: {}: {}", missing["fact"], missing["why"]);
        }
        let sheet = Sheet { json, stderr };
        MISSED.set(sheet.rows("cpus").iter().filter_map(|cpu| cpu["untold_switches"].as_u64()).sum());
        sheet
    }
}

/// What watch reported.
pub struct Sheet {
    pub json: Value,
    pub stderr: String,
}

impl Sheet {
    /// The window, CLOCK_MONOTONIC ns.
    pub fn window(&self) -> (u64, u64) {
        let ns = |key: &str| self.json[key].as_u64().unwrap_or_else(|| panic!("no {key}"));
        (ns("from_ns"), ns("to_ns"))
    }

    /// Length of the window, ns.
    pub fn wall_ns(&self) -> u64 {
        self.window().1 - self.window().0
    }

    /// Whether a time lies in the window.
    pub fn has(&self, at_ns: u64) -> bool {
        (self.window().0..self.window().1).contains(&at_ns)
    }

    /// What was not counted. That some switches are not reported is the kernel's doing (docs/journal/0012), and no loss: they are
    /// caught up with. That a guest has no frequency is no loss either.
    pub fn losses(&self) -> Vec<String> {
        let facts = self.rows("missing").iter().filter_map(|row| row["fact"].as_str());
        let known = ["some switches on CPU", "frequency of CPUs"];
        facts.filter(|fact| !known.iter().any(|known| fact.starts_with(known))).map(String::from).collect()
    }

    /// The rows of a table.
    pub fn rows(&self, table: &str) -> &[Value] {
        self.json[table].as_array().map_or(&[], Vec::as_slice)
    }

    /// The row of a thread of the target.
    pub fn thread(&self, tid: u32) -> &Value {
        let found = self.rows("threads").iter().find(|thread| thread["tid"] == tid);
        found.unwrap_or_else(|| panic!("thread {tid} is not in {:#}", self.json["threads"]))
    }

    /// The row of a CPU.
    pub fn cpu(&self, cpu: u32) -> &Value {
        self.rows("cpus").iter().find(|row| row["cpu"] == cpu).unwrap()
    }

    /// How often a source came on a CPU.
    pub fn came(&self, cpu: u32, source: &str) -> u64 {
        self.cpu(cpu)["sources"][source]["count"].as_u64().unwrap_or(0)
    }

    /// How often a function of the kernel ran on a CPU.
    pub fn ran(&self, cpu: u32, kind: &str, name: &str) -> u64 {
        let functions = self.rows("functions").iter();
        let same = functions.filter(|row| row["cpu"] == cpu && row["kind"] == kind && row["name"] == name);
        same.map(|row| row["ran"]["count"].as_u64().unwrap()).sum()
    }
}
