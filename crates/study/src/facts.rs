//! What rules reason from: everything in a case, read into memory.

use machine::{Fault, Machine, Setting};
use probe::Observation;

use crate::case::{Case, Resolved};
use crate::evidence::{self, Evidence};
use crate::intervention::Proof;
use crate::latencies;
use crate::schedule;
use crate::trial::Trial;

/// A trial with what was observed during its window.
#[derive(Debug, Clone)]
pub struct Seen {
    /// The trial.
    pub trial: Trial,
    /// Its observation; `None` when its file is gone or sampling was not possible (the trial's `missing` says why).
    pub observation: Option<Observation>,
}

/// A whole case in memory. Rules take this and nothing else, so that they work on any case on any laptop.
#[derive(Debug, Clone)]
pub struct Facts {
    /// The study as resolved.
    pub study: Resolved,
    /// The machine at the start of the study.
    pub machine: Machine,
    /// Knobs that can steer interrupts or receive work, as they stood at the start: IRQ affinities, rps_cpus.
    pub as_found: Vec<Setting>,
    /// Trials with their observations, in order of time.
    pub trials: Vec<Seen>,
    /// What the trials say.
    pub evidence: Evidence,
    /// What one timer interrupt costs a computing thread on this machine, ns; `None` when it could not be measured.
    pub interrupt_cost_ns: Option<f64>,
    /// Proofs made so far.
    pub proofs: Vec<Proof>,
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
    /// Reads the files of a case; the evidence is computed from the trials, not read.
    pub fn read(case: &Case) -> Result<Self, Fault> {
        let mut evidence = evidence::of_case(&case.study, &case.trials);
        let needed = evidence::needed_latencies(&case.study, &evidence, &case.trials);
        if !needed.is_empty() {
            let latencies = latencies::read(case, &needed);
            evidence.pooled = evidence::pooled(&case.study, &evidence, &case.trials, &latencies);
        }
        let trials = case
            .trials
            .iter()
            .map(|trial| {
                let observation = case.read_json(&format!("trials/{:04}/observation.json", trial.index))?;
                Ok(Seen { trial: trial.clone(), observation })
            })
            .collect::<Result<_, Fault>>()?;
        let machine = case.read_json("machine.json")?.ok_or_else(|| {
            Fault::new(
                machine::Class::Storage,
                case.dir().join("machine.json").display(),
                "it is not there",
                "restore the file from a copy, or run the study anew",
            )
        })?;
        let calibration: Calibration = case.read_json("calibration.json")?.unwrap_or_default();
        Ok(Self {
            study: case.study.clone(),
            machine,
            as_found: case.read_json("as_found.json")?.unwrap_or_default(),
            trials,
            evidence,
            interrupt_cost_ns: calibration.interrupt_cost_ns,
            proofs: case.read_json("proofs.json")?.unwrap_or_default(),
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
