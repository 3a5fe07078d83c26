//! Observed blocks: the arms once more, with the kernel's account of the server running beside. They explain and decide nothing: their
//! trials stand in a list of their own (`observed.jsonl`), which no verdict reads. Pure.

pub mod account_file;
mod coverage;
pub mod lock_waits;

use serde::{Deserialize, Serialize};

use load::Outcome;
use probe::Situation;

use crate::arm::Role;
use crate::case::Resolved;
use crate::looks;
use crate::schedule;
use crate::search::Stage;
use crate::statistics::draws::Draws;
use crate::statistics::signed_rank::FEWEST_FOR_95;
use crate::trial::Trial;
pub(crate) use coverage::unseen_threads;

/// Observed blocks of a study of so many blocks that names no number: as many as a 95 % interval of a signed rank takes. None where it has
/// fewer itself, which decide nothing either, and across boots.
pub fn usual(blocks: usize, across_boots: bool) -> usize {
    if across_boots || blocks < FEWEST_FOR_95 { 0 } else { FEWEST_FOR_95 }
}

/// Makes their order differ from that of the deciding trials.
const SALT: u64 = 0x6f62_7365_7276_0001;

/// Of the window of an account, the intervals of the load have to cover this share: the rest is taken to be like them.
const COVERED: f64 = 0.95;

/// One observed block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Block {
    /// It follows this block of the study.
    pub after: usize,
    /// Arms by index, in the order in which they run.
    pub order: Vec<usize>,
}

/// A trial that is to be run and observed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// Observed block, from 0.
    pub block: usize,
    /// Position within it, from 0.
    pub position: usize,
    /// Index of the arm.
    pub arm: usize,
}

/// The observed blocks of a study, spread evenly over the blocks up to its first look, so that they see the machine as the deciding ones
/// did; of a search those of its confirmation, after its end. None of a study across boots, whose blocks take minutes each.
pub fn blocks(study: &Resolved) -> Vec<Block> {
    let count = study.recipe.budget.observed_blocks.unwrap_or(0);
    let arms = arms(study);
    if arms.is_empty() || study.boots.is_some() || study.is_searching() {
        return Vec::new();
    }
    let first_look = looks::planned(study).first().copied().unwrap_or(1).max(1);
    let end = if study.recipe.search.is_some() { study.order.len() } else { first_look };
    let mut draws = Draws::new(study.recipe.seed.unwrap_or_default() ^ SALT);
    let block = |number: usize| {
        let mut order = arms.clone();
        draws.shuffle(&mut order);
        let after = match study.recipe.search.is_some() {
            true => end.saturating_sub(1),
            false => ((number + 1) * end).div_ceil(count).saturating_sub(1),
        };
        Block { after, order }
    };
    (0..count).map(block).collect()
}

/// What is observed: the baseline once and what is compared with it. A second baseline and a dose are controls of figures.
fn arms(study: &Resolved) -> Vec<usize> {
    let baseline = study.arms.iter().position(|arm| arm.role == Role::Baseline);
    let confirmed = |at: &usize| {
        let stages = study.stages.iter().zip(&study.order);
        study.recipe.search.is_none()
            || stages.into_iter().any(|(stage, order)| *stage == Stage::Confirm && order.contains(at))
    };
    let candidates =
        (0..study.arms.len()).filter(|at| study.arms[*at].role == Role::Candidate).filter(confirmed);
    baseline.into_iter().chain(candidates).collect()
}

/// The observed trial that comes next, before a deciding trial of block `deciding`; `None`: no deciding trial is left.
pub fn next(study: &Resolved, trials: &[Trial], observed: &[Trial], deciding: Option<usize>) -> Option<Slot> {
    let left_out = schedule::left_out(study, trials);
    let is_run =
        |block: usize, position: usize| observed.iter().any(|t| (t.block, t.position) == (block, position));
    let is_due = |block: &Block| deciding.is_none_or(|deciding| deciding > block.after);
    for (number, block) in blocks(study).iter().enumerate().filter(|(_, block)| is_due(block)) {
        let slots = block.order.iter().enumerate();
        let open = slots.filter(|(_, arm)| !left_out.contains_key(arm));
        if let Some((position, arm)) = open.into_iter().find(|(position, _)| !is_run(number, *position)) {
            return Some(Slot { block: number, position, arm: *arm });
        }
    }
    None
}

/// How many observed trials there will be.
pub fn expected(study: &Resolved) -> usize {
    blocks(study).iter().map(|block| block.order.len()).sum()
}

/// What an observed trial saw ([`account_file`]).
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Observed {
    /// Requests that were answered in the window of the account; `None` where the load does not report it.
    pub requests: Option<f64>,
    /// The window from every side, without the machine: it is that of the case.
    pub situation: Situation,
}

/// Requests that were answered between two instants, CLOCK_MONOTONIC ns. Of an interval that lies across an end its part counts.
/// `None` where nothing shows, or intervals cover less than 95 % of the time.
pub fn requests_between(outcome: &Outcome, from_ns: u64, to_ns: u64) -> Option<f64> {
    let length_ns = to_ns.checked_sub(from_ns).filter(|ns| *ns > 0)? as f64;
    if outcome.intervals.is_empty() {
        return Some(outcome.figures.get(load::Counted::Requests.rate())? * length_ns / 1e9);
    }
    let (mut covered_ns, mut requests) = (0.0, 0.0);
    for interval in &outcome.intervals {
        let within_ns = interval.to_ns.min(to_ns).saturating_sub(interval.from_ns.max(from_ns)) as f64;
        let whole_ns = interval.to_ns.saturating_sub(interval.from_ns) as f64;
        if whole_ns > 0.0 {
            covered_ns += within_ns;
            requests += interval.completed as f64 * within_ns / whole_ns;
        }
    }
    (covered_ns >= COVERED * length_ns).then(|| requests * length_ns / covered_ns)
}

#[cfg(test)]
mod tests {
    use load::Interval;

    use super::*;
    use crate::case::tests::resolved;

    fn observed(blocks: usize) -> Resolved {
        let mut study = resolved();
        study.recipe.budget.observed_blocks = Some(blocks);
        study
    }

    fn trial(slot: Slot) -> Trial {
        Trial { block: slot.block, position: slot.position, ..Trial::default() }
    }

    #[test]
    fn every_arm_that_is_compared_once_a_block_and_the_seed_repeats_it() {
        let study = observed(6);
        let blocks = blocks(&study);
        assert_eq!((blocks.len(), blocks.clone()), (6, super::blocks(&study)));
        let compared = study.arms.iter().filter(|arm| arm.role == Role::Candidate).count();
        for block in &blocks {
            let mut order = block.order.clone();
            order.sort_unstable();
            order.dedup();
            assert_eq!(order.len(), compared + 1, "the baseline once, no dose");
            assert!(block.after < study.order.len());
        }
        assert!(super::blocks(&observed(0)).is_empty() && super::blocks(&resolved()).is_empty());
    }

    #[test]
    fn a_study_that_can_decide_is_observed() {
        assert_eq!([1, 5, 6, 14].map(|blocks| usual(blocks, false)), [0, 0, 6, 6]);
        assert_eq!(usual(14, true), 0);
    }

    #[test]
    fn they_are_spread_up_to_the_first_look() {
        let mut study = observed(6);
        let arms = study.arms.len();
        study.order = crate::design::draw_order(arms, 14, 1);
        study.recipe.budget.looks = vec![10];
        let after: Vec<usize> = blocks(&study).iter().map(|block| block.after).collect();
        assert_eq!(after, [1, 3, 4, 6, 8, 9]);
    }

    #[test]
    fn an_observed_block_comes_when_the_block_before_it_is_done_and_each_trial_once() {
        let study = observed(1);
        let (last, arms) = (study.order.len() - 1, blocks(&study)[0].order.len());
        assert_eq!(next(&study, &[], &[], Some(0)), None);
        assert_eq!(next(&study, &[], &[], Some(last)), None, "its last trial is still to come");
        let mut done = Vec::new();
        while let Some(slot) = next(&study, &[], &done, None) {
            done.push(trial(slot));
        }
        assert_eq!((done.len(), expected(&study)), (arms, arms));
    }

    #[test]
    fn requests_of_cut_intervals_count_in_part_and_uncovered_time_is_said() {
        let interval = |from: u64, completed| Interval {
            from_ns: from,
            to_ns: from + 100,
            completed,
            failed: 0,
            latency: String::new(),
        };
        let outcome = Outcome {
            intervals: vec![interval(0, 10), interval(100, 20), interval(200, 30)],
            ..Outcome::default()
        };
        assert_eq!(requests_between(&outcome, 50, 250), Some(5.0 + 20.0 + 15.0));
        assert_eq!(requests_between(&outcome, 0, 300), Some(60.0));
        assert_eq!(requests_between(&outcome, 0, 400), None, "a quarter of it is not covered");
        assert_eq!(requests_between(&outcome, 7, 7), None);
        let figure =
            Outcome { figures: [("requests_per_s".to_string(), 500.0)].into(), ..Outcome::default() };
        assert_eq!(requests_between(&figure, 0, 2_000_000_000), Some(1_000.0));
        assert_eq!(requests_between(&Outcome::default(), 0, 100), None);
    }
}
