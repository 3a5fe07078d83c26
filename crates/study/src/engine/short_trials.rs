//! Short trials before a case is made, in a folder of their own: those of a pilot, and of a screening. They are in no comparison.

use std::path::Path;

use machine::{Class, Fault};

use super::{Planned, Trials};
use crate::arm::Arm;
use crate::case::{Case, Resolved};
use crate::design;
use crate::recipe::Recipe;
use crate::trial::Trial;

/// Length of a trial's window, and of its warm-up, s: those of the recipe where they are shorter.
const WINDOW_S: f64 = 0.5;
const WARM_UP_S: f64 = 0.2;

/// A case in `dir` for short trials of `arms`, whose order is drawn with the study's seed and `salt`.
///
/// # Errors
/// The folder cannot be written.
pub(super) fn case(
    study: &Resolved,
    arms: Vec<Arm>,
    rounds: usize,
    salt: u64,
    dir: &Path,
) -> Result<Case, Fault> {
    let mut recipe = Recipe { search: None, ..study.recipe.clone() };
    recipe.budget.window_s = recipe.budget.window_s.min(WINDOW_S);
    recipe.budget.warm_up_cap_s = recipe.budget.warm_up_cap_s.min(WARM_UP_S);
    recipe.budget.looks = Vec::new();
    recipe.budget.observed_blocks = None;
    let order = design::draw_order(arms.len(), rounds, recipe.seed.unwrap_or_default() ^ salt);
    Case::create_preliminary(
        dir,
        Resolved { order, boots: None, recipe, arms, stages: Vec::new(), found: None, ..study.clone() },
    )
}

/// Runs one trial of the arm at `at` and keeps it in the case. A server or load that fails is kept as a trial without figures, as in a study, and
/// returned. `interrupted` is checked before.
///
/// # Errors
/// An interruption; anything else that ends a study.
pub(super) fn one(
    case: &mut Case,
    trials: &mut dyn Trials,
    (block, position, at): (usize, usize, usize),
    interrupted: &dyn Fn() -> bool,
) -> Result<Option<Fault>, Fault> {
    if interrupted() {
        let cause = "stopped before its first block; nothing was measured yet";
        return Err(Fault::new(Class::Interrupted, "study", cause, "run it again"));
    }
    let arm: Arm = case.study.arms[at].clone();
    let planned =
        Planned { index: case.trials.len(), block, position, attempt: 0, arm: &arm, observed: false };
    let dir = case.trial_dir(planned.index);
    let (trial, fault) = match trials.run(&planned, &dir) {
        Ok(trial) => (trial, None),
        Err(fault) if fault.class == Class::WorkloadFailed => (super::failed(&planned, &fault), Some(fault)),
        Err(fault) => return Err(fault),
    };
    case.append(trial)?;
    Ok(fault)
}

/// Fails where none of these trials has figures. `fault` is that of the last one that failed.
///
/// # Errors
/// All of them failed: that fault.
pub(super) fn any_measured(trials: &[Trial], fault: Option<Fault>) -> Result<(), Fault> {
    match fault {
        Some(fault) if trials.iter().all(|trial| trial.failed.is_some()) => Err(fault),
        _ => Ok(()),
    }
}
