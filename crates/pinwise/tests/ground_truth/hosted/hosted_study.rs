//! A small study whose load comes from other hosts, run as a user would and met in the middle of its trials.

use std::fs::File;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use study::Case;

use super::host_namespaces::HostNamespaces;
use super::host_processes::signal;
use crate::pinwise::{Bench, wait_at_most};
use crate::processes::Killed;

/// A load that pinwise drives itself.
const STRING: [&str; 5] = ["--load", "string", "--keep-alive", "--connections", "2"];

/// Four arms, all placed alike, in trials of half a second. What the tests do to the hosts disturbs no trial: how often one is run does
/// not depend on who else uses this machine.
const SMALL: [&str; 15] = [
    "--aa",
    "1",
    "--window",
    "0.4",
    "--warm-up",
    "0.2",
    "--seed",
    "1",
    "--key",
    "disturbed.others_cpus=1000.0",
    "--key",
    "disturbed.steal_share=1.0",
    "--format",
    "json",
    "--anyway",
];

/// Longer than any of these studies takes from wherever a test waits.
const LONGEST: Duration = Duration::from_secs(300);

/// How long a load may let a test wait for it: hosts are reached again after a trial that failed.
const LOAD_WITHIN: Duration = Duration::from_secs(60);

/// A study of the built-in string server; killed when dropped.
pub struct HostedStudy {
    bench: Bench,
    running: Killed,
}

impl HostedStudy {
    /// Begins a study whose server the hosts reach; `more` says which of them drive the load.
    pub fn begin(bed: &HostNamespaces, more: &[&str]) -> Self {
        Self::begin_as(Bench::new(), bed, &[&STRING[..], more].concat())
    }

    /// The same with a load of its own, by a recipe.
    pub fn begin_by(recipe: &str, bed: &HostNamespaces, more: &[&str]) -> Self {
        let bench = Bench::new();
        let path = bench.case().with_file_name("recipe.toml");
        std::fs::write(&path, recipe).unwrap();
        let path = path.display().to_string();
        Self::begin_as(bench, bed, &[&[path.as_str()][..], more].concat())
    }

    fn begin_as(bench: Bench, bed: &HostNamespaces, more: &[&str]) -> Self {
        let case = bench.case().display().to_string();
        let blocks: &[&str] = if more.contains(&"--blocks") { &[] } else { &["--blocks", "2"] };
        let server: &[&str] = &["study", "-o", &case, "--address", bed.address()];
        let running = started(&bench, &[server, &SMALL[..], blocks, more].concat());
        Self { bench, running }
    }

    /// Begins a study on the first host of `hosts`, a file of [`HostNamespaces::hosts_file_of_server`].
    pub fn begin_elsewhere(hosts: &str) -> Self {
        let bench = Bench::new();
        let case = bench.case().display().to_string();
        let elsewhere: &[&str] = &["study", "-o", &case, "--hosts", hosts, "--blocks", "2"];
        let running = started(&bench, &[elsewhere, &STRING[..], &SMALL[..]].concat());
        Self { bench, running }
    }

    /// The case as it is now; none before there is one.
    pub fn case(&self) -> Option<Case> {
        Case::open(&self.bench.case()).ok()
    }

    /// Trials that came to a figure.
    pub fn finished(&self) -> usize {
        self.case().map_or(0, |case| finished(&case))
    }

    /// Causes of the trials that failed.
    pub fn failures(&self) -> Vec<String> {
        let trials = self.case().map(|case| case.trials).unwrap_or_default();
        trials.into_iter().filter_map(|trial| trial.failed).collect()
    }

    /// Lines of `trials.jsonl`.
    pub fn trials_text(&self) -> String {
        std::fs::read_to_string(self.bench.case().join("trials.jsonl")).unwrap_or_default()
    }

    /// What it has said on stderr.
    pub fn log(&self) -> String {
        std::fs::read_to_string(log_of(&self.bench)).unwrap_or_default()
    }

    /// Waits until a load runs on this host in a trial of the case that is wanted.
    pub fn wait_for_load(&mut self, bed: &HostNamespaces, host: &str, is_wanted: impl Fn(&Case) -> bool) {
        let what = format!("a load on host {host}");
        self.wait_until(LOAD_WITHIN, &what, |study| {
            study.case().is_some_and(|case| is_wanted(&case)) && !bed.loads(host).is_empty()
        });
    }

    /// Waits until `done`, while the study runs.
    pub fn wait_until(&mut self, within: Duration, what: &str, done: impl Fn(&Self) -> bool) {
        wait_at_most(within, what, || {
            let is_done = done(&*self);
            let ended = self.running.try_wait().unwrap();
            assert!(is_done || ended.is_none(), "no {what}: the study has ended\n{}", self.log());
            is_done
        });
    }

    /// Waits for its end.
    pub fn ends(&mut self) -> ExitStatus {
        wait_at_most(LONGEST, "the end of the study", || self.running.try_wait().unwrap().is_some());
        self.running.wait().unwrap()
    }

    /// Waits for its end, with a figure of each arm in each block, and nothing left in force on this machine.
    pub fn ends_well(&mut self) {
        let status = self.ends();
        assert!(status.success(), "{status}\n{}", self.log());
        is_complete(&self.case().unwrap());
        self.bench.nothing_is_changed();
    }

    /// That nothing of it is in force on this machine any more.
    pub fn nothing_is_changed(&self) {
        self.bench.nothing_is_changed();
    }

    /// Interrupts it as Ctrl-C does.
    pub fn interrupt(&self) {
        signal("INT", &[self.running.id() as i32]);
    }

    /// Ends it as `kill -9` does.
    pub fn kill(&mut self) {
        self.running.kill().unwrap();
        self.running.wait().unwrap();
    }

    /// Goes on with a study that was killed, as its user is advised to.
    pub fn resume(&mut self) {
        let undone = self.bench.run(&["undo"]);
        assert!(undone.status.success(), "{}", String::from_utf8_lossy(&undone.stdout));
        self.bench.nothing_is_changed();
        let case = self.bench.case().display().to_string();
        self.running = started(&self.bench, &["resume", &case, "--format", "json"]);
    }
}

/// That there is a figure of each arm in each block of a case.
pub fn is_complete(case: &Case) {
    let failures: Vec<_> = case.trials.iter().filter_map(|trial| trial.failed.as_ref()).collect();
    for (block, order) in case.study.order.iter().enumerate() {
        for position in 0..order.len() {
            let mut of_slot =
                case.trials.iter().filter(|trial| (trial.block, trial.position) == (block, position));
            let has_figure = of_slot.any(|trial| trial.failed.is_none());
            assert!(has_figure, "block {block}, position {position}: {failures:?}");
        }
    }
}

/// Trials of a case that came to a figure.
pub fn finished(case: &Case) -> usize {
    case.trials.iter().filter(|trial| trial.failed.is_none()).count()
}

fn started(bench: &Bench, arguments: &[&str]) -> Killed {
    let log = File::options().append(true).create(true).open(log_of(bench)).unwrap();
    Killed(bench.command(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().unwrap())
}

fn log_of(bench: &Bench) -> PathBuf {
    bench.case().with_file_name("study.log")
}
