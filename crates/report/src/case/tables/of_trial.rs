//! A trial of a case with what there is of it, and the cells that stand before each of its rows.

use std::collections::BTreeSet;

use probe::Observation;
use study::{Arm, Facts, Observed, Trial, schedule};

use crate::account::account_tables::{Cell, word};

/// A trial with what the case has of it.
#[derive(Debug, Clone, Copy)]
pub struct OfTrial<'a> {
    pub(super) trial: &'a Trial,
    /// `None` where the study has no arm of that name.
    pub(super) arm: Option<&'a Arm>,
    pub(super) observation: Option<&'a Observation>,
    pub(super) account: Option<&'a Observed>,
    observed: bool,
    counted: bool,
}

impl<'a> OfTrial<'a> {
    /// A trial of which there is nothing else.
    pub(super) fn alone(trial: &'a Trial) -> Self {
        Self { trial, arm: None, observation: None, account: None, observed: false, counted: false }
    }

    /// Its folder in the case: `trials/0007`.
    pub fn folder(&self) -> String {
        let above = if self.observed { "observed" } else { "trials" };
        format!("{above}/{:04}", self.trial.index)
    }

    /// Whether it failed: then the load may have reported nothing.
    pub fn has_failed(&self) -> bool {
        self.trial.failed.is_some()
    }

    /// What stands before each row.
    fn cells(&self) -> Vec<Cell> {
        vec![
            Cell::whole("trial", self.trial.index as u64),
            Cell::truth("observed", self.observed),
            Cell::whole("block", self.trial.block as u64),
            Cell::text("arm", Some(self.trial.arm.as_str().into())),
            Cell::text("role", self.arm.and_then(|arm| word(arm.role))),
            Cell::truth("counted", self.counted),
        ]
    }

    /// The same with the cells of a row.
    pub(super) fn before(&self, row: impl IntoIterator<Item = Cell>) -> Vec<Cell> {
        self.cells().into_iter().chain(row).collect()
    }
}

/// The trials of a case in order of time, then those of observed blocks.
pub fn of_case(facts: &Facts) -> Vec<OfTrial<'_>> {
    let compared = schedule::counted(facts.trials.iter().map(|seen| &seen.trial));
    let compared: BTreeSet<usize> = compared.iter().map(|trial| trial.index).collect();
    let arm = |trial: &Trial| facts.study.arms.iter().find(|arm| arm.name == trial.arm);
    let trials = facts.trials.iter().map(|seen| OfTrial {
        trial: &seen.trial,
        arm: arm(&seen.trial),
        observation: seen.observation.as_ref(),
        account: None,
        observed: false,
        counted: compared.contains(&seen.trial.index),
    });
    let observed = facts.observed.iter().map(|seen| OfTrial {
        trial: &seen.trial,
        arm: arm(&seen.trial),
        observation: seen.observed.as_ref().map(|observed| &observed.situation.observation),
        account: seen.observed.as_ref(),
        observed: true,
        counted: seen.observed.is_some(),
    });
    trials.chain(observed).collect()
}
