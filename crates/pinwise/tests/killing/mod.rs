//! SIGKILL at the points of a command at which something lasting happens, and what the machine is after the next undo. For the
//! tests on this kernel and those in guests.

mod tracer;
mod whole;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use machine::{Plan, Planned, Root, knobs};

pub use tracer::{Ended, run_to};
pub use whole::Whole;

/// No command has so many points.
const MOST: usize = 5_000;

/// Where the platform reads settings of the kernel at each start.
pub const SYSCTL_D: &str = "/etc/sysctl.d";

/// Files of pinwise's own among them, drafts too.
pub fn placed() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(SYSCTL_D).into_iter().flatten().flatten();
    entries.map(|entry| entry.path()).filter(|path| path.to_string_lossy().contains("pinwise")).collect()
}

/// A plan, and the program that is killed.
pub struct Victim<'a> {
    pub plan: &'a Plan,
    /// `pinwise` with these words, and a state folder of its own.
    pub command: &'a dyn Fn(&[&str]) -> Command,
    /// How many of the points are tried at most, evenly chosen.
    pub most: usize,
    /// At one of so many of these the whole machine is compared, and not the settings of the plan alone.
    pub whole_step: usize,
    /// Called with a line on each point that was tried.
    pub progress: &'a dyn Fn(&str),
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Tried {
    /// Points that the command has.
    pub points: usize,
    /// Points of them that were chosen: at each of these it was to be killed.
    pub chosen: usize,
    /// Points at which it was killed and after which undo put everything back.
    pub restored: usize,
    /// Those of them at which the whole machine was compared.
    pub whole: usize,
    /// The longest undo.
    pub longest: Duration,
}

/// Kinds of knob in a plan.
pub fn kinds(plan: &Plan) -> usize {
    plan.settings.iter().map(|setting| &setting.knob).collect::<BTreeSet<_>>().len()
}

/// What each setting of a plan reads now.
pub fn readings(root: &Root, plan: &Plan) -> Vec<String> {
    let read = |planned: &Planned| {
        let knob = knobs::find(&planned.knob).unwrap();
        let value = knob.read(root, &planned.target).unwrap_or_else(|fault| panic!("{fault}"));
        format!("{} of {}: {value}", planned.knob, planned.target)
    };
    plan.settings.iter().map(read).collect()
}

/// The setting at a value that differs from the present one; `None`, with a word, where this kernel does not offer it.
pub fn planned(root: &Root, knob: &str, target: &str, values: &[&str; 2]) -> Option<Planned> {
    let now = match knobs::find(knob).map(|found| found.read(root, target)) {
        Some(Ok(now)) => now,
        Some(Err(fault)) => {
            eprintln!("left out: {fault}");
            return None;
        }
        None => panic!("there is no knob {knob}"),
    };
    let value = values.iter().find(|value| **value != now).unwrap();
    Some(Planned { knob: knob.into(), target: target.into(), value: value.to_string(), ..Planned::default() })
}

impl Victim<'_> {
    /// Kills `words` at its points in turn, after `first` has prepared.
    pub fn at_each_point(&self, first: &[&[&str]], words: &[&str]) -> Tried {
        let before = (readings(&Root::live(), self.plan), Whole::now());
        let mut tried = Tried::default();
        // Tried all, the last one is known by that the command ends by itself.
        let all = if self.most < MOST { self.points(first, words) } else { MOST };
        let step = all.div_ceil(self.most).max(1);
        for point in (0..all).step_by(step) {
            let ended = self.run_to(first, words, point);
            let whole = tried.restored % self.whole_step == 0;
            let took = self.restored(&before, whole, point);
            tried.longest = tried.longest.max(took);
            (self.progress)(&format!(
                "{words:?}, point {point}: {ended:?}, taken back in {:.1} s",
                took.as_secs_f64()
            ));
            match ended {
                Ended::Killed => {
                    tried.restored += 1;
                    tried.whole += usize::from(whole);
                }
                Ended::ByItself { status: 0, points } => {
                    return Tried { points, chosen: points.div_ceil(step), ..tried };
                }
                Ended::ByItself { status, .. } => panic!("pinwise {words:?} ended with status {status}"),
            }
        }
        assert!(all < MOST, "more than {MOST} points");
        Tried { points: all, chosen: all.div_ceil(step), ..tried }
    }

    /// How many points `words` has.
    fn points(&self, first: &[&[&str]], words: &[&str]) -> usize {
        let Ended::ByItself { points, .. } = self.run_to(first, words, usize::MAX) else { return 0 };
        let status = (self.command)(&["undo"]).status().unwrap();
        assert!(status.success(), "undo: {status}");
        points
    }

    fn run_to(&self, first: &[&[&str]], words: &[&str], point: usize) -> Ended {
        for words in first {
            let status = (self.command)(words).status().unwrap();
            assert!(status.success(), "pinwise {words:?}: {status}");
        }
        run_to(&mut (self.command)(words), point).unwrap()
    }

    /// Takes back what is left, and holds the machine against what it was; how long the undo took.
    fn restored(&self, before: &(Vec<String>, Whole), whole: bool, point: usize) -> Duration {
        let begun = Instant::now();
        let out = (self.command)(&["undo"])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .output()
            .unwrap();
        let took = begun.elapsed();
        let reported = String::from_utf8_lossy(&out.stdout);
        let said = String::from_utf8_lossy(&out.stderr);
        assert!(out.status.success(), "undo after point {point}: {reported}{said}");
        assert_eq!(readings(&Root::live(), self.plan), before.0, "after point {point}: {reported}");
        assert!(placed().is_empty(), "after point {point}: {:?}: {reported}", placed());
        if whole {
            before.1.assert_still_so(&format!("after point {point}: {reported}"));
        }
        took
    }
}
