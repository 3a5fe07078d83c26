//! Looks: ends a study early when everything is decided, at instants that were fixed before, with the error split over them.

mod look;

pub use self::look::Look;
use crate::case::Resolved;
use crate::evidence::{Evidence, Trust, Verdict, of_blocks};
use crate::recipe::Precision;
use crate::schedule::attempts;
use crate::statistics::looks::Looks;
use crate::trial::Trial;

/// The blocks after which the study is looked at: those of the recipe that lie before its end and at which something can be claimed, and
/// its end. Blocks that were added later are behind its end: all error of these looks is spent by then.
pub fn planned(study: &Resolved) -> Vec<usize> {
    let blocks = study.planned_blocks();
    let mut looks = study.recipe.budget.looks_and_end(blocks);
    if looks.len() > 1 {
        let known = Looks::new(&looks, study.recipe.precision.alpha);
        let without = known.map(|looks| looks.without_level()).unwrap_or_default();
        looks.retain(|look| *look == blocks || !without.contains(look));
    }
    looks
}

/// Part of a study's error that is set aside for blocks that are added after its last look.
const SET_ASIDE: f64 = 0.2;

/// The level at which blocks that were added for the `nth` time (from 0) are judged by themselves: half of what was set aside for the first,
/// half of the rest for the next, and so on, so that all of them together stay within it.
pub fn set_aside(alpha: f64, nth: u32) -> f64 {
    alpha * SET_ASIDE / 2f64.powi(nth.min(60) as i32 + 1)
}

/// The error that the looks of a study may spend in all.
pub fn spent_by_looks(alpha: f64) -> f64 {
    alpha * (1.0 - SET_ASIDE)
}

/// What may be claimed at each of `looks`. The levels of all looks and what is set
/// aside add up to the recipe's, so that what is claimed at
/// any of them, of any number of comparisons after Holm and of equality too, is false no more often than that. They lie as those
/// of O'Brien and Fleming do: little is spent early, and the last look is almost as good as a study without others.
pub fn precisions(precision: Precision, looks: &[usize]) -> Vec<Precision> {
    let shape: Vec<f64> = match Looks::new(looks, precision.alpha) {
        Ok(known) if looks.len() > 1 => (0..looks.len()).map(|at| known.level_at(at)).collect(),
        _ => vec![1.0; looks.len()],
    };
    let sum: f64 = shape.iter().sum();
    let alpha = spent_by_looks(precision.alpha);
    shape.iter().map(|level| Precision { alpha: alpha * level / sum, ..precision }).collect()
}

/// Every look that could be made so far. `weigh` gives the evidence of the first so many blocks at a precision.
pub fn made(study: &Resolved, trials: &[Trial], weigh: impl Fn(usize, Precision) -> Evidence) -> Vec<Look> {
    let looks = planned(study);
    let mut made = Vec::new();
    let complete = complete_blocks(study, trials);
    let precisions = precisions(study.recipe.precision, &looks);
    for (blocks, precision) in looks.iter().zip(precisions).take_while(|(blocks, _)| **blocks <= complete) {
        let evidence = weigh(*blocks, precision);
        let undecided = undecided(&evidence);
        let ended = undecided == 0 && evidence.trust == Trust::Sound || looks.last() == Some(blocks);
        made.push(Look { blocks: *blocks, alpha: precision.alpha, undecided, ended });
        if ended {
            break;
        }
    }
    made
}

/// The blocks that are to be run, as far as is known by now: the planned ones up to the look that ended the study, and all that were
/// added.
pub fn blocks_to_run(study: &Resolved, trials: &[Trial]) -> Vec<usize> {
    let planned = study.planned_blocks();
    (0..planned_to_run(study, trials)).chain(planned..study.order.len()).collect()
}

/// How many of the planned blocks are to be run.
fn planned_to_run(study: &Resolved, trials: &[Trial]) -> usize {
    let planned = study.planned_blocks();
    if study.recipe.budget.looks.is_empty() {
        return planned;
    }
    let made = made(study, trials, |blocks, precision| of_blocks(study, trials, blocks, precision));
    made.iter().find(|look| look.ended).map_or(planned, |look| look.blocks)
}

/// Planned blocks at the start whose every slot is settled: a later one has begun, or nothing of them is open.
fn complete_blocks(study: &Resolved, trials: &[Trial]) -> usize {
    let attempts = study.recipe.budget.attempts.max(1);
    let left_out = attempts::left_out(study, trials);
    let settled = |block: usize, position: usize| {
        let arm = study.order[block].get(position);
        if arm.is_some_and(|arm| attempts::is_skipped(&left_out, *arm, block)) {
            return true;
        }
        let of_slot = trials.iter().filter(|t| (t.block, t.position) == (block, position));
        let (count, last) = of_slot.fold((0, None), |(count, _), trial| (count + 1, Some(trial)));
        // A guard that ended an arm settled it; one that ended the baseline did not.
        let is_open = |trial: &Trial| {
            trial.failed.is_some()
                || trial.breach.is_some() && !arm.is_some_and(|arm| left_out.contains_key(arm))
        };
        count >= attempts || last.is_some_and(|trial| !is_open(trial))
    };
    let planned = study.planned_blocks();
    let begun = trials.iter().map(|trial| trial.block).filter(|block| *block < planned);
    let Some(last) = begun.max() else { return 0 };
    let whole = (0..study.order.get(last).map_or(0, Vec::len)).all(|position| settled(last, position));
    if whole { last + 1 } else { last }
}

/// How many comparisons and effects are not decided.
pub fn undecided(evidence: &Evidence) -> usize {
    let all = evidence.against_baseline.iter().chain(&evidence.against_other_cpus);
    let effects = evidence.effects.iter().map(|effect| effect.verdict);
    all.map(|contrast| contrast.verdict)
        .chain(effects)
        .filter(|verdict| *verdict == Verdict::Undecided)
        .count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::tests::resolved;

    #[test]
    fn the_levels_of_all_looks_add_up_and_the_last_has_most() {
        let precision = Precision { margin: 0.03, alpha: 0.05 };
        let levels: Vec<f64> = precisions(precision, &[8, 12, 16]).iter().map(|at| at.alpha).collect();
        assert!((levels.iter().sum::<f64>() - spent_by_looks(0.05)).abs() < 1e-12, "{levels:?}");
        assert!(levels[0] < levels[1] && levels[1] < levels[2] && levels[2] > 0.02, "{levels:?}");
        assert_eq!(precisions(precision, &[14])[0].alpha, spent_by_looks(0.05));
        let added: f64 = (0..20).map(|nth| set_aside(0.05, nth)).sum();
        assert!(spent_by_looks(0.05) + added <= 0.05);
    }

    #[test]
    fn looks_beyond_the_end_are_none() {
        let mut study = of_14_blocks();
        study.recipe.budget.looks = vec![20, 10, 10];
        assert_eq!(planned(&study), [10, 14]);
    }

    fn of_14_blocks() -> Resolved {
        let study = resolved();
        Resolved { order: crate::design::draw_order(study.arms.len(), 14, 1), ..study }
    }

    #[test]
    fn looks_at_which_nothing_can_be_claimed_are_left_out() {
        let mut study = of_14_blocks();
        study.recipe.budget.looks = vec![4, 8, 10];
        assert_eq!(planned(&study), [10, 14]);
        let levels = precisions(study.recipe.precision, &planned(&study));
        assert!(levels.iter().all(|level| level.alpha > 0.0), "{levels:?}");
        study.recipe.budget.looks = vec![8];
        assert_eq!(planned(&study), [14]);
        // Too short a study has its end all the same.
        study.order.truncate(2);
        study.recipe.budget.looks = vec![1];
        assert_eq!(planned(&study), [2]);
    }
}
