//! What rules reason from: everything in a case, read into memory.

use hosts::HostSpec;
use machine::devices::path::NetworkPath;
use machine::{Fault, Machine, Missing, Root, Setting};
use probe::Observation;

use crate::case::{Case, Resolved};
use crate::evidence::{self, Evidence};
use crate::intervention::Proof;
use crate::latencies;
use crate::observed_blocks::{Observed, unseen_threads};
use crate::schedule;
use crate::screening::Screening;
use crate::trial::Trial;

/// A trial with what was observed during its window.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The trial; its `missing` also has files of its folder that could not be read.
    pub trial: Trial,
    /// Its observation; `None` of a trial that failed, and where its file cannot be read (the trial's `missing` says why).
    pub observation: Option<Observation>,
}

/// A trial of an observed block with what was observed.
#[derive(Debug, Clone)]
pub struct SeenObserved {
    /// The trial; its `missing` also says why there is no account.
    pub trial: Trial,
    /// What was observed, with the machine of the case; `None` of a trial that failed, where it could not be had, and where the account
    /// did not see all threads of the server.
    pub observed: Option<Observed>,
}

/// A whole case in memory. Rules take this and nothing else, so that they work on any case on any laptop.
#[derive(Debug, Clone)]
pub struct Facts {
    /// The study as resolved.
    pub study: Resolved,
    /// The machine at the start of the study; without any CPU where that is not known (`missing` says why).
    pub machine: Machine,
    /// Knobs that can steer interrupts or receive work, as they stood at the start: IRQ affinities, rps_cpus.
    pub as_found: Vec<Setting>,
    /// Trials with their observations, in order of time.
    pub trials: Vec<Seen>,
    /// Trials of observed blocks, in order of time.
    pub observed: Vec<SeenObserved>,
    /// What the trials say.
    pub evidence: Evidence,
    /// What one timer interrupt costs a computing thread on this machine, ns; `None` when it could not be measured.
    pub interrupt_cost_ns: Option<f64>,
    /// How the CPUs were chosen that have blocks, where all were screened.
    pub screening: Option<Screening>,
    /// How the server's host and those that drive load reach each other, as far as it was recorded.
    pub paths: Vec<NetworkPath>,
    /// Proofs made so far.
    pub proofs: Vec<Proof>,
    /// What is not known of the study as a whole: files of the case that cannot be read, what could not be measured before the
    /// first trial. What is not known of a trial is in its own `missing`.
    pub missing: Vec<Missing>,
}

/// `calibration.json`: what was measured of the machine itself before the study.
#[derive(Debug, Clone, PartialEq, Default, serde::Serialize, serde::Deserialize)]
pub struct Calibration {
    /// What one timer interrupt costs a computing thread, ns.
    pub interrupt_cost_ns: Option<f64>,
    /// What could not be measured, and why.
    pub missing: Vec<machine::Missing>,
}

impl Facts {
    /// Reads the files of a case; the evidence is computed from the trials, not read. A file that cannot be read is a missing fact.
    ///
    /// # Errors
    /// None so far: what a case cannot do without was read when it was opened.
    pub fn read(case: &Case) -> Result<Self, Fault> {
        let mut evidence = evidence::of_case(&case.study, &case.trials);
        let needed = evidence::needed_latencies(&case.study, &evidence, &case.trials);
        if !needed.is_empty() {
            let latencies = latencies::read(case, &needed);
            evidence.pooled = evidence::pooled(&case.study, &evidence, &case.trials, &latencies);
        }
        let mut missing = Vec::new();
        let machine = keep(machine(case, &mut missing), &mut missing);
        let as_found = keep(case.read_fact("as_found.json"), &mut missing);
        let calibration: Calibration = keep(case.read_fact("calibration.json"), &mut missing);
        let proofs: Option<Vec<Proof>> = keep(case.read_fact_if_there("proofs.json"), &mut missing);
        let screening: Option<Screening> = keep(case.read_fact_if_there("screening.json"), &mut missing);
        missing.extend(calibration.missing);
        let paths = paths(case, &mut missing);
        Ok(Self {
            study: case.study.clone(),
            as_found,
            trials: case.trials.iter().map(|trial| seen(case, trial)).collect(),
            observed: case.observed.iter().map(|trial| seen_observed(case, trial, &machine)).collect(),
            machine,
            evidence,
            interrupt_cost_ns: calibration.interrupt_cost_ns,
            screening,
            paths,
            proofs: proofs.unwrap_or_default(),
            missing,
        })
    }

    /// Trials that there will be, as far as is known.
    pub fn planned(&self) -> usize {
        schedule::expected(&self.study, &self.trials_alone())
    }

    /// Whether nothing of the study is left to be run.
    pub fn is_finished(&self) -> bool {
        !self.study.is_searching() && schedule::next(&self.study, &self.trials_alone()).is_none()
    }

    fn trials_alone(&self) -> Vec<Trial> {
        self.trials.iter().map(|seen| seen.trial.clone()).collect()
    }

    /// Observations of the trials of one arm.
    pub fn observations(&self, arm: &str) -> Vec<&Observation> {
        self.trials.iter().filter(|s| s.trial.arm == arm).filter_map(|s| s.observation.as_ref()).collect()
    }

    /// Median over an arm's trials of a counter's rate on one CPU, per second; `None` when it is known in none of them.
    pub fn median_rate(&self, arm: &str, probe: &str, row: &str, cpu: u32) -> Option<f64> {
        let rates: Vec<f64> = self.observations(arm).iter().filter_map(|o| o.rate(probe, row, cpu)).collect();
        crate::statistics::summary::median(&rates)
    }
}

/// The fact, or nothing in its place and the reason among those that are missing.
fn keep<T: Default>(read: Result<T, Missing>, missing: &mut Vec<Missing>) -> T {
    read.unwrap_or_else(|why| {
        missing.push(why);
        T::default()
    })
}

/// The machine of the case: as it was read then, else read again from what was captured then.
fn machine(case: &Case, missing: &mut Vec<Missing>) -> Result<Machine, Missing> {
    case.read_fact("machine.json").or_else(|lost| {
        let folder = case.dir().join("machine");
        let Some(root) = folder.is_dir().then(|| Root::at(&folder).ok()).flatten() else { return Err(lost) };
        let machine = Machine::read(&root);
        if machine.cpus.is_empty() {
            return Err(lost);
        }
        let why = format!("{}; the machine is read again from the capture in machine/", lost.why);
        missing.push(Missing { why, ..lost });
        Ok(machine)
    })
}

/// Where a case keeps how a host that drives load is reached, below its folder `hosts`.
pub(crate) fn path_file(host: &str) -> String {
    format!("{host}.path.json")
}

/// Those of the hosts of the recipe. Cases of earlier versions have none.
fn paths(case: &Case, missing: &mut Vec<Missing>) -> Vec<NetworkPath> {
    // A case may come from elsewhere: the name of a host in it is checked before it is a part of a path.
    let hosts = case.study.recipe.hosts.iter().filter(|host| host.check().is_ok());
    let path = |host: &HostSpec| {
        let file = format!("hosts/{}", path_file(&host.name));
        let path: Option<NetworkPath> = keep(case.read_fact_if_there(&file), missing);
        path.map(|path| NetworkPath { host: host.name.clone(), ..path })
    };
    hosts.filter_map(path).collect()
}

/// A trial with what its folder holds.
fn seen(case: &Case, trial: &Trial) -> Seen {
    let mut trial = trial.clone();
    // One that failed was not observed to its end.
    if trial.failed.is_some() {
        return Seen { trial, observation: None };
    }
    let read = case.read_fact(&format!("trials/{:04}/observation.json", trial.index));
    let observation = read.map_err(|why| trial.missing.push(why)).ok();
    Seen { trial, observation }
}

/// An observed trial with what its folder holds.
fn seen_observed(case: &Case, trial: &Trial, machine: &Machine) -> SeenObserved {
    let mut trial = trial.clone();
    if trial.failed.is_some() {
        return SeenObserved { trial, observed: None };
    }
    let read = case.read_observed(trial.index);
    let observed = read.map_err(|why| trial.missing.push(why)).ok();
    let observed = observed.map(|mut observed| {
        observed.situation.machine = machine.clone();
        observed
    });
    complete(trial, observed)
}

/// The trial without what was observed where that is not all of the server: nothing is explained from it.
fn complete(mut trial: Trial, observed: Option<Observed>) -> SeenObserved {
    match observed.as_ref().and_then(|observed| unseen_threads(&observed.situation)) {
        Some(why) => {
            trial.missing.push(why);
            SeenObserved { trial, observed: None }
        }
        None => SeenObserved { trial, observed },
    }
}
