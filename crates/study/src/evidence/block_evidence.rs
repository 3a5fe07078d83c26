//! The evidence of some blocks of a study, or about some of its arms: which of the trials count, and what the reader should know. Pure.

use std::collections::BTreeSet;

use super::weighing::weigh;
use super::{Evidence, Question, notes, standing};
use crate::arm::Arm;
use crate::case::Resolved;
use crate::recipe::Precision;
use crate::schedule::attempts;
use crate::trial::Trial;

/// The evidence of the first `blocks` blocks at `precision`, about the figure that decides.
pub fn of_blocks(study: &Resolved, trials: &[Trial], blocks: usize, precision: Precision) -> Evidence {
    let within: Vec<Trial> = trials.iter().filter(|trial| trial.block < blocks).cloned().collect();
    of_arms(study, study.arms.clone(), &within, precision)
}

/// The evidence of `trials` about those of `arms` that were neither given up nor ended by a guard. What such an arm did until then is in no
/// comparison, and no factor has an effect that would leave it out.
pub(super) fn of_arms(study: &Resolved, arms: Vec<Arm>, trials: &[Trial], precision: Precision) -> Evidence {
    let given_up = attempts::given_up(study, trials);
    let names: BTreeSet<&str> =
        given_up.keys().filter_map(|at| study.arms.get(*at)).map(|arm| arm.name.as_str()).collect();
    let harmful = standing::harmful(study, trials);
    let is_left = |arm: &Arm| !names.contains(arm.name.as_str()) && !harmful.contains_key(&arm.name);
    let arms: Vec<Arm> = arms.into_iter().filter(is_left).collect();
    let recipe = &study.recipe;
    let mut evidence = weigh(&arms, &attempts::counted(trials), &Question { precision, ..recipe.question() });
    if !harmful.is_empty() {
        evidence.effects.clear();
        evidence.standings.extend(harmful);
    }
    let last_cause = |arm: &str| trials.iter().rev().find(|trial| trial.arm == arm)?.failed.clone();
    evidence.given_up =
        names.iter().map(|name| (name.to_string(), last_cause(name).unwrap_or_default())).collect();
    evidence.notes.extend(notes::of_attempts(&evidence.given_up, trials));
    evidence.notes.extend(notes::of_boots(&evidence, study, trials));
    evidence
}
