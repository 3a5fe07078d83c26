//! The evidence of a case: which of its trials are weighed, and at which level. Pure.

use std::collections::{BTreeMap, BTreeSet};

use super::block_evidence::{of_arms, of_blocks};
use super::{ArmStanding, Contrast, Evidence, Judgement, Outcome, Trust, Unjudged, Verdict};
use super::{expectations, growth, notes, own_traffic_notes, same_cpus, secondary_figures, standing};
use crate::arm::{Arm, Role};
use crate::case::Resolved;
use crate::case::added_blocks::Added;
use crate::looks;
use crate::own_traffic::{harm, jumps};
use crate::recipe::Precision;
use crate::schedule;
use crate::search::Stage;
use crate::trial::Trial;

/// The evidence of a case as far as it has been run: at the last look that was made, or of all trials before the first.
pub fn of_case(study: &Resolved, trials: &[Trial]) -> Evidence {
    if study.recipe.search.is_some() {
        return of_search(study, trials);
    }
    let looks = looks::made(study, trials, |blocks, precision| of_blocks(study, trials, blocks, precision));
    let (blocks, alpha) = match looks.last() {
        Some(look) if look.ended => (look.blocks, look.alpha),
        _ => {
            let levels = looks::precisions(study.recipe.precision, &looks::planned(study));
            (study.planned_blocks(), levels[0].alpha)
        }
    };
    let precision = Precision { alpha, ..study.recipe.precision };
    let mut evidence = of_blocks(study, trials, blocks, precision);
    evidence.also =
        secondary_figures::of(study, &evidence.arms, (evidence.precision, evidence.trust), trials, blocks);
    let (recipe, counted) = (&study.recipe, schedule::counted(trials));
    let within: Vec<Trial> = counted.into_iter().filter(|trial| trial.block < blocks).collect();
    let seed = recipe.seed.unwrap_or_default();
    evidence.growth =
        growth::of(&study.arms, &within, &recipe.metric, recipe.direction(), evidence.precision, seed);
    evidence.expectations =
        expectations(study, &within, &evidence, looks.last().is_some_and(|look| look.ended));
    evidence.looks = looks;
    if !study.added.is_empty() {
        let next = schedule::next(study, trials).map(|slot| slot.block);
        // No peeking: blocks that are not all run decide nothing.
        let is_whole = |added: &&Added| next.is_none_or(|block| block >= added.range().end);
        let whole = study.added.iter().take_while(is_whole).enumerate();
        evidence = whole.fold(evidence, |so_far, added| with_added(so_far, study, trials, added));
    }
    evidence.notes.extend(notes::of_added(study, trials));
    evidence.notes.extend(same_cpus::notes(&evidence, study, trials));
    evidence.harm = harm::of(study, trials);
    if evidence.harm.is_some() {
        let mut harmful = standing::of(&study.arms, trials);
        harmful.retain(|_, standing| matches!(standing, ArmStanding::Starved { .. }));
        harmful.extend(standing::harmful(study, trials));
        take_out(&mut evidence, harmful);
        evidence.traffic_jumps = jumps::of(trials);
        evidence.notes.extend(own_traffic_notes::of(&evidence, study, trials));
    }
    evidence
}

/// Takes arms that a guard ended, or in which nothing was answered, out of everything that is claimed, in whichever block it did: of one
/// that was judged by earlier blocks nothing that they say holds.
fn take_out(evidence: &mut Evidence, harmful: BTreeMap<String, ArmStanding>) {
    let stays = |arm: &String| !harmful.contains_key(arm);
    evidence.against_baseline.retain(|contrast| stays(&contrast.arm));
    evidence.against_other_cpus.retain(|contrast| stays(&contrast.arm));
    for also in &mut evidence.also {
        also.against_baseline.retain(|contrast| stays(&contrast.arm));
    }
    evidence.control = evidence.control.take().filter(|control| stays(&control.contrast.arm));
    evidence.control_against_baseline =
        evidence.control_against_baseline.take().filter(|contrast| stays(&contrast.arm));
    evidence.arms.retain(|arm| stays(&arm.arm));
    for judged in evidence.expectations.iter_mut().filter(|judged| !stays(&judged.arm)) {
        judged.outcome = Outcome::Failed;
    }
    if !harmful.is_empty() {
        evidence.effects.clear();
        evidence.growth.clear();
    }
    evidence.standings.extend(harmful);
}

/// What the recipe expects, judged once the study has ended. Until then nothing is: who looks at every block and stops at a good one passes
/// anything.
fn expectations(study: &Resolved, within: &[Trial], evidence: &Evidence, ended: bool) -> Vec<Judgement> {
    let recipe = &study.recipe;
    let alpha = looks::spent_by_looks(recipe.precision.alpha);
    let expected = &recipe.expectations;
    let confidence = expectations::confidence(alpha, looks::planned(study).len(), expected.len());
    let mut judged = expectations::of(expected, &study.arms, within, evidence, confidence);
    if !ended {
        let outcome = Outcome::CannotTell { why: Unjudged::Unfinished };
        judged.iter_mut().for_each(|judged| judged.outcome = outcome.clone());
    }
    judged
}

/// The evidence with what blocks that were added for the `nth` time say by themselves, at the level that was set aside for them: of what
/// was open before, and of everything where no claim could be made before.
fn with_added(
    mut evidence: Evidence,
    study: &Resolved,
    trials: &[Trial],
    (nth, added): (usize, &Added),
) -> Evidence {
    let within: Vec<Trial> = trials.iter().filter(|t| added.range().contains(&t.block)).cloned().collect();
    let alpha = looks::set_aside(study.recipe.precision.alpha, nth as u32);
    // One that a guard ended before has no trial there.
    let ran = |arm: &&Arm| !matches!(evidence.standings.get(&arm.name), Some(ArmStanding::Harmful { .. }));
    let arms = study.arms.iter().filter(ran).cloned().collect();
    let fresh = of_arms(study, arms, &within, Precision { alpha, ..study.recipe.precision });
    if fresh.trust != Trust::Sound {
        return evidence;
    }
    confirm_expectations(&mut evidence.expectations, study, &within, &fresh, alpha);
    if evidence.trust != Trust::Sound {
        return Evidence { looks: evidence.looks, expectations: evidence.expectations, ..fresh };
    }
    let is_open = |verdict| matches!(verdict, Verdict::Undecided | Verdict::CannotTell);
    let decide = |before: &mut Vec<Contrast>, now: &[Contrast]| {
        for contrast in before.iter_mut().filter(|contrast| is_open(contrast.verdict)) {
            if let Some(decided) = now.iter().find(|of| of.arm == contrast.arm && !is_open(of.verdict)) {
                *contrast = decided.clone();
            }
        }
    };
    decide(&mut evidence.against_baseline, &fresh.against_baseline);
    decide(&mut evidence.against_other_cpus, &fresh.against_other_cpus);
    evidence
}

/// Judges by added blocks alone, whose evidence is `fresh`, what could not be decided before.
fn confirm_expectations(
    judgements: &mut [Judgement],
    study: &Resolved,
    added: &[Trial],
    fresh: &Evidence,
    alpha: f64,
) {
    let confidence = expectations::confidence(alpha, 1, judgements.len());
    let counted = schedule::counted(added);
    let is_open = |judged: &Judgement| matches!(judged.outcome, Outcome::CannotTell { .. });
    for judged in judgements.iter_mut().filter(|judged| is_open(judged)) {
        let expected = std::slice::from_ref(&judged.expectation);
        let now = expectations::of(expected, &study.arms, &counted, fresh, confidence).pop();
        if let Some(now) = now.filter(|now| !is_open(now)) {
            *judged = now;
        }
    }
}

/// Whether a block is one in which the winner of a search is confirmed.
pub(super) fn is_fresh(study: &Resolved, block: usize) -> bool {
    study.stages.get(block) == Some(&Stage::Confirm)
}

/// The evidence of a search: of its fresh blocks alone, since what was looked at while choosing flatters the chosen.
fn of_search(study: &Resolved, trials: &[Trial]) -> Evidence {
    let is_fresh = |block: usize| is_fresh(study, block);
    let fresh: Vec<Trial> = trials.iter().filter(|trial| is_fresh(trial.block)).cloned().collect();
    let orders = study.order.iter().enumerate().filter(|(block, _)| is_fresh(*block));
    let confirmed: BTreeSet<usize> = orders.flat_map(|(_, order)| order.iter().copied()).collect();
    let is_in = |at: usize, arm: &Arm| arm.role != Role::Candidate || confirmed.contains(&at);
    let arms = study.arms.iter().enumerate().filter(|(at, arm)| is_in(*at, arm)).map(|(_, arm)| arm.clone());
    let precision = study.recipe.precision;
    let mut evidence = of_arms(study, arms.collect(), &fresh, precision);
    let level = (evidence.precision, evidence.trust);
    evidence.also = secondary_figures::of(study, &evidence.arms, level, &fresh, study.order.len());
    evidence.search = study.found.clone();
    evidence
}
