//! What became of the attempts at each slot: the trial that counts, and the arms that are given up. Pure.

use std::collections::BTreeMap;

use crate::arm::Role;
use crate::case::Resolved;
use crate::own_traffic::harm;
use crate::trial::Trial;

/// Arms that are given up, and the block in which they were.
pub fn given_up(study: &Resolved, trials: &[Trial]) -> BTreeMap<usize, usize> {
    let mut since = BTreeMap::new();
    for ((block, position), slot) in by_slot(trials) {
        if let Some(arm) = study.order.get(block).and_then(|order| order.get(position))
            && is_given_up(study, *arm, &slot)
        {
            since.entry(*arm).or_insert(block);
        }
    }
    since
}

/// Arms that do not run again, and the block in which that was settled: those that are given up, and those that a guard ended.
pub fn left_out(study: &Resolved, trials: &[Trial]) -> BTreeMap<usize, usize> {
    let mut since = given_up(study, trials);
    for (arm, block) in harm::ended_arms(study, trials) {
        since.entry(arm).and_modify(|since| *since = block.min(*since)).or_insert(block);
    }
    since
}

/// Whether `arm` was left out before `block`.
pub(crate) fn is_skipped(left_out: &BTreeMap<usize, usize>, arm: usize, block: usize) -> bool {
    left_out.get(&arm).is_some_and(|since| *since < block)
}

/// The trial of each slot that is compared: the last that came to a figure. It is the one that was not disturbed, or the last of
/// as many attempts as the recipe allows; the rule never looks at the figure. One that a guard cut short is compared with nothing.
pub fn counted<'a>(trials: impl IntoIterator<Item = &'a Trial>) -> Vec<Trial> {
    let mut slots: BTreeMap<(usize, usize), &Trial> = BTreeMap::new();
    for trial in trials.into_iter().filter(|trial| trial.failed.is_none() && trial.breach.is_none()) {
        slots.insert((trial.block, trial.position), trial);
    }
    slots.into_values().cloned().collect()
}

/// The trials of each slot, in the order in which they were run.
pub(super) fn by_slot(trials: &[Trial]) -> BTreeMap<(usize, usize), Vec<&Trial>> {
    let mut slots: BTreeMap<(usize, usize), Vec<&Trial>> = BTreeMap::new();
    for trial in trials {
        slots.entry((trial.block, trial.position)).or_default().push(trial);
    }
    slots
}

/// Whether nothing of a slot came to a figure, and nothing more is tried.
fn is_given_up(study: &Resolved, arm: usize, slot: &[&Trial]) -> bool {
    !is_control(study, arm)
        && slot.len() >= study.recipe.budget.attempts
        && slot.iter().all(|trial| trial.failed.is_some())
}

/// Whether nothing can be compared without this arm.
pub(super) fn is_control(study: &Resolved, arm: usize) -> bool {
    study.arms.get(arm).is_none_or(|arm| arm.role != Role::Candidate)
}
