//! Which trial comes next: pure, from the resolved study and the trials that are on disk, so that a study which was killed goes
//! on exactly as it would have gone on.

pub(crate) mod attempts;

use std::collections::BTreeSet;
use std::ops::Range;

use machine::{Class, Fault};

use self::attempts::{by_slot, is_control, is_skipped};
pub use self::attempts::{counted, given_up, left_out};
use crate::arm::Role;
use crate::case::Resolved;
use crate::looks;
use crate::own_traffic::{harm, jumps};
use crate::search::Stage;
use crate::trial::Trial;

/// One trial that is to be run: arm `arm` at `position` of `block`, for the `attempt`th time, all counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Slot {
    /// Block.
    pub block: usize,
    /// Position within the block.
    pub position: usize,
    /// Index of the arm.
    pub arm: usize,
    /// How many trials of this slot there were already: those were disturbed or failed.
    pub attempt: usize,
}

/// The trial that comes next; `None` when the study is finished, or when a search has to say what comes next.
///
/// Each block runs every arm once in its order. What was disturbed or failed is run again after the others of its block, or of its boot
/// where the study goes across boots, up to `budget.attempts` times in all; what was disturbed, until a quarter of the planned trials
/// went into repeats. An arm whose attempts all failed in one block is given up. After each look that the recipe fixed before, the study
/// ends if everything is decided. Blocks that were added come last.
///
/// Under a server's own traffic an arm that a guard ended does not run again, while the baseline does; a trial during which the traffic
/// jumped is a disturbed one; and the study ends when its budget of harm is used up.
pub fn next(study: &Resolved, trials: &[Trial]) -> Option<Slot> {
    if harm::ended(study, trials).is_some() {
        return None;
    }
    let slots = by_slot(trials);
    let left_out = left_out(study, trials);
    let jumped: BTreeSet<usize> = match study.recipe.has_own_traffic() {
        true => jumps::of(trials).into_iter().map(|jump| jump.trial).collect(),
        false => BTreeSet::new(),
    };
    let is_disturbed = |trial: &Trial| trial.disturbed.is_some() || jumped.contains(&trial.index);
    for block in looks::blocks_to_run(study, trials) {
        let (order, repeats_left) = (&study.order[block], has_repeats_left(study, trials, block));
        let of = |position: usize| slots.get(&(block, position)).map_or(&[][..], Vec::as_slice);
        let open = |position: usize| order.get(position).filter(|arm| !is_skipped(&left_out, **arm, block));
        let attempts = study.recipe.budget.attempts.max(1);
        for boot in study.boots_of(block) {
            // One more of a control that failed each time: it ended the study, which goes on since somebody fixed the cause.
            let most = boot.clone().map(|position| of(position).len() + 1).max().unwrap_or(0).max(attempts);
            let rounds = (0..most).flat_map(|attempt| boot.clone().map(move |position| (attempt, position)));
            for (attempt, position, arm) in rounds.filter_map(|(attempt, at)| Some((attempt, at, *open(at)?)))
            {
                let earlier = of(position);
                let is_open = match earlier.last() {
                    None => true,
                    Some(trial) if attempt >= attempts => trial.failed.is_some() && is_control(study, arm),
                    Some(trial) if trial.breach.is_some() => is_baseline(study, arm),
                    Some(trial) => trial.failed.is_some() || is_disturbed(trial) && repeats_left,
                };
                if earlier.len() == attempt && is_open {
                    return Some(Slot { block, position, arm, attempt });
                }
            }
        }
    }
    None
}

/// Of the planned trials, the share that is spent at most on repeating disturbed ones: a machine that is never quiet has to be
/// studied as it is.
const REPEATED_SHARE: f64 = 0.25;

/// Whether a disturbed trial of `block` may be run again. Each part of the study, the planned blocks and every addition, has repeats of
/// its own: with a share of all blocks, an addition would open trials of earlier blocks again.
fn has_repeats_left(study: &Resolved, trials: &[Trial], block: usize) -> bool {
    let part = study.part_of(block);
    let repeats = trials.iter().filter(|trial| trial.attempt > 0 && part.contains(&trial.block)).count();
    most_repeats(study, part) > repeats
}

/// How many trials of a part are run again at most. Of a search it is fixed before, too: with a share of the blocks that were asked for
/// so far, each further block would open trials of earlier ones again.
fn most_repeats(study: &Resolved, part: Range<usize>) -> usize {
    let planned = match &study.recipe.search {
        Some(search) => search.trials + study.recipe.budget.blocks * (controls(study) + 1),
        None => study.order[part].iter().map(Vec::len).sum(),
    };
    (planned as f64 * REPEATED_SHARE).ceil() as usize
}

fn is_baseline(study: &Resolved, arm: usize) -> bool {
    study.arms.get(arm).is_some_and(|arm| arm.role == Role::Baseline)
}

/// How many arms are controls.
fn controls(study: &Resolved) -> usize {
    (0..study.arms.len()).filter(|arm| is_control(study, *arm)).count()
}

/// How many trials there will be at least, if nothing more is disturbed and no look ends the study.
pub fn expected(study: &Resolved, trials: &[Trial]) -> usize {
    if harm::ended(study, trials).is_some() {
        return trials.len();
    }
    let repeats = trials.iter().filter(|trial| trial.attempt > 0).count();
    let left_out = left_out(study, trials);
    let of_block =
        |block: usize| study.order[block].iter().filter(|arm| !is_skipped(&left_out, **arm, block)).count();
    let blocks = looks::blocks_to_run(study, trials).into_iter();
    blocks.map(of_block).sum::<usize>() + repeats + yet_to_be_asked(study)
}

/// Of a search that goes on: trials that it may still ask for.
fn yet_to_be_asked(study: &Resolved) -> usize {
    let Some(search) = study.recipe.search.as_ref().filter(|_| study.is_searching()) else { return 0 };
    let is_confirm = |block: &usize| study.stages.get(*block) == Some(&Stage::Confirm);
    let confirmed = (0..study.order.len()).filter(is_confirm).count();
    let candidates = study.order.iter().flatten().filter(|arm| study.arms[**arm].role == Role::Candidate);
    let before = if confirmed > 0 { 0 } else { search.trials.saturating_sub(candidates.count()) };
    before + study.recipe.budget.blocks.saturating_sub(confirmed) * (controls(study) + 1)
}

/// What becomes of a trial that failed, and of its study.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterFailure {
    /// It is kept with its cause, and the study goes on.
    GoesOn,
    /// It is kept with its cause, and the study ends with the fault: it was the last attempt of an arm without which nothing can be
    /// compared. A study that is resumed makes another.
    Ends,
    /// The study ends with the fault, and the trial counts as never begun: nothing has run yet, so that the recipe is wrong and not a
    /// placement, or the fault is not the workload's.
    NeverBegan,
}

/// Says what comes after `slot` failed with `fault`.
pub fn after_failure(study: &Resolved, trials: &[Trial], slot: Slot, fault: &Fault) -> AfterFailure {
    let something_ran = trials.iter().any(|trial| trial.failed.is_none());
    if fault.class != Class::WorkloadFailed || !something_ran {
        return AfterFailure::NeverBegan;
    }
    match is_control(study, slot.arm) && slot.attempt + 1 >= study.recipe.budget.attempts {
        true => AfterFailure::Ends,
        false => AfterFailure::GoesOn,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::case::tests::resolved;

    /// Runs the schedule to its end; `outcome` says of each trial whether it was disturbed or failed.
    fn played(study: &Resolved, outcome: impl Fn(&Slot) -> (Option<String>, Option<String>)) -> Vec<Trial> {
        let mut trials: Vec<Trial> = Vec::new();
        while let Some(slot) = next(study, &trials) {
            assert!(trials.len() < 1000, "it does not end");
            let (disturbed, failed) = outcome(&slot);
            trials.push(Trial {
                index: trials.len(),
                block: slot.block,
                position: slot.position,
                attempt: slot.attempt,
                arm: study.arms[slot.arm].name.clone(),
                disturbed,
                failed,
                ..Trial::default()
            });
        }
        trials
    }

    fn asked(study: &Resolved) -> Vec<(usize, usize)> {
        let blocks = study.order.iter().enumerate();
        blocks.flat_map(|(block, order)| (0..order.len()).map(move |position| (block, position))).collect()
    }

    fn ran(trials: &[Trial]) -> Vec<(usize, usize)> {
        trials.iter().map(|trial| (trial.block, trial.position)).collect()
    }

    fn some() -> Option<String> {
        Some("x".into())
    }

    #[test]
    fn undisturbed_it_is_the_order_that_was_drawn() {
        let study = resolved();
        let trials = played(&study, |_| (None, None));
        assert_eq!(ran(&trials), asked(&study));
        assert_eq!(expected(&study, &[]), trials.len());
    }

    #[test]
    fn what_was_disturbed_is_run_again_after_the_others_of_its_block() {
        let study = resolved();
        let trials = played(&study, |slot| {
            let disturbed = slot.block == 0 && slot.position == 1 && slot.attempt < 2;
            (disturbed.then(|| "x".into()), None)
        });
        let mut expected_order = asked(&study);
        expected_order.splice(5..5, [(0, 1), (0, 1)]);
        assert_eq!(ran(&trials), expected_order);
        assert_eq!(trials[6].attempt, 2);
        let counted = counted(&trials);
        assert_eq!(counted.len(), 10);
        assert!(counted.iter().all(|trial| trial.disturbed.is_none()));
        assert_eq!(expected(&study, &trials), trials.len());
    }

    #[test]
    fn on_a_machine_that_is_never_quiet_a_quarter_more_is_spent_and_the_last_attempts_count() {
        let study = resolved();
        let trials = played(&study, |_| (some(), None));
        assert_eq!(trials.len(), 10 + 3);
        let counted = counted(&trials);
        assert_eq!(counted.len(), 10);
        assert_eq!(counted.iter().filter(|trial| trial.attempt > 0).count(), 3);
    }

    #[test]
    fn an_arm_that_always_fails_is_given_up_and_the_others_go_on() {
        let study = resolved();
        let at = study.arms.iter().position(|arm| arm.role == Role::Candidate).unwrap();
        let trials = played(&study, |slot| (None, (slot.arm == at).then(|| "x".into())));
        assert_eq!(given_up(&study, &trials), BTreeMap::from([(at, 0)]));
        let of_arm = trials.iter().filter(|trial| trial.arm == study.arms[at].name).count();
        assert_eq!(of_arm, study.recipe.budget.attempts, "not once in the second block");
        assert_eq!(counted(&trials).len(), 8);
        assert_eq!(expected(&study, &trials), trials.len());
    }

    #[test]
    fn what_ends_a_study_and_what_does_not() {
        let study = resolved();
        let of = |role: Role| study.arms.iter().position(|arm| arm.role == role).unwrap();
        let slot = |arm: usize, attempt| Slot { block: 0, position: 0, arm, attempt };
        let died = Fault::new(Class::WorkloadFailed, "server", "died", "");
        let one = [Trial::default()];
        let candidate = of(Role::Candidate);
        let after = |trials: &[Trial], slot, fault| after_failure(&study, trials, slot, fault);
        assert_eq!(after(&[], slot(candidate, 0), &died), AfterFailure::NeverBegan, "nothing ran yet");
        assert_eq!(after(&one, slot(candidate, 2), &died), AfterFailure::GoesOn);
        assert_eq!(after(&one, slot(of(Role::Baseline), 0), &died), AfterFailure::GoesOn);
        assert_eq!(after(&one, slot(of(Role::Baseline), 2), &died), AfterFailure::Ends);
        let usage = Fault::new(Class::Usage, "figure", "is not there", "");
        assert_eq!(after(&one, slot(candidate, 0), &usage), AfterFailure::NeverBegan);
    }

    /// Blocks of the trials that a study still runs.
    fn added(study: &mut Resolved, blocks: usize) {
        let line = study.more_blocks(blocks, 0).unwrap();
        study.add(line).unwrap();
    }

    #[test]
    fn added_blocks_follow_and_open_no_earlier_trial_again() {
        let mut study = resolved();
        // Never quiet: all repeats of the planned blocks are spent, and most of their trials stay disturbed.
        let mut trials = played(&study, |_| (some(), None));
        let planned = trials.len();
        added(&mut study, 3);
        assert_eq!(expected(&study, &trials), planned + 3 * study.arms.len());
        while let Some(slot) = next(&study, &trials) {
            assert!(slot.block >= 2, "{slot:?} is of a planned block");
            let Slot { block, position, arm, attempt } = slot;
            let arm = study.arms[arm].name.clone();
            let index = trials.len();
            trials.push(Trial { index, block, position, attempt, arm, ..Trial::default() });
        }
        assert_eq!(trials.len(), planned + 3 * study.arms.len());
        assert_eq!(looks::blocks_to_run(&study, &trials), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn a_trial_during_which_the_traffic_jumped_is_run_again_after_the_others_of_its_block() {
        use load::outcome::traffic::Traffic;

        let study = crate::own_traffic::harm::tests::own_traffic();
        let mut trials: Vec<Trial> = Vec::new();
        while let Some(slot) = next(&study, &trials) {
            assert!(trials.len() < 100, "it does not end");
            let is_burst = slot.block == 0 && slot.position == 2 && slot.attempt == 0;
            let requests = if is_burst { 5000.0 } else { 1000.0 + trials.len() as f64 };
            let figures = [("completed", requests), ("requests_per_s", requests / 2.0)];
            trials.push(Trial {
                index: trials.len(),
                block: slot.block,
                position: slot.position,
                attempt: slot.attempt,
                arm: study.arms[slot.arm].name.clone(),
                figures: figures.map(|(name, value)| (name.to_string(), value)).into(),
                traffic: Some(Traffic::default()),
                ..Trial::default()
            });
        }
        let mut expected_order = asked(&study);
        expected_order.insert(5, (0, 2));
        assert_eq!(ran(&trials), expected_order);
    }

    #[test]
    fn an_arm_that_a_guard_ended_runs_no_more_and_the_baseline_runs_again() {
        use crate::own_traffic::harm::tests::{breach, own_traffic};

        let mut study = own_traffic();
        let of = |study: &Resolved, role: Role| study.arms.iter().position(|arm| arm.role == role).unwrap();
        let (candidate, baseline) = (of(&study, Role::Candidate), of(&study, Role::Baseline));
        study.recipe.budget.blocks = 2;
        let mut trials: Vec<Trial> = Vec::new();
        while let Some(slot) = next(&study, &trials) {
            assert!(trials.len() < 100, "it does not end");
            let ended = slot.block == 0 && slot.attempt == 0 && [candidate, baseline].contains(&slot.arm);
            trials.push(Trial {
                index: trials.len(),
                block: slot.block,
                position: slot.position,
                attempt: slot.attempt,
                arm: study.arms[slot.arm].name.clone(),
                breach: ended.then(|| breach(31_000.0)),
                ..Trial::default()
            });
        }
        let times = |arm: usize| trials.iter().filter(|trial| trial.arm == study.arms[arm].name).count();
        assert_eq!((times(candidate), times(baseline)), (1, 3));
        assert_eq!(
            counted(&trials).len(),
            2 * study.arms.len() - 2,
            "neither trial that was ended is compared"
        );
        assert_eq!(expected(&study, &trials), trials.len());
        // The second harmful trial ends it, whatever is left.
        let another = Trial { breach: Some(breach(31_000.0)), ..trials[0].clone() };
        let of_candidate = Trial { arm: study.arms[candidate].name.clone(), ..another };
        trials.truncate(3);
        trials.extend([of_candidate.clone(), of_candidate]);
        assert_eq!(next(&study, &trials), None);
        assert_eq!(expected(&study, &trials), trials.len());
    }

    proptest::proptest! {
        #[test]
        fn cut_anywhere_it_goes_on_as_it_would_have(seed in 0u64..1000, cut in 0usize..40) {
            let study = resolved();
            let outcome = |slot: &Slot| {
                let mixed = (seed + 7 * slot.block as u64 + 3 * slot.position as u64 + slot.attempt as u64) % 5;
                ((mixed == 0).then(|| "x".into()), (mixed == 1).then(|| "y".into()))
            };
            let whole = played(&study, outcome);
            let cut = cut.min(whole.len());
            let following = next(&study, &whole[..cut]).map(|slot| (slot.block, slot.position, slot.attempt));
            proptest::prop_assert_eq!(following, whole.get(cut).map(|t| (t.block, t.position, t.attempt)));
        }

        #[test]
        fn with_blocks_added_anywhere_it_goes_on_as_it_would_have(
            seed in 0u64..1000, cut in 0usize..60, at in 0usize..20, more in 1usize..4,
        ) {
            let mut study = resolved();
            let outcome = |slot: &Slot| {
                let mixed = (seed + 7 * slot.block as u64 + 3 * slot.position as u64 + slot.attempt as u64) % 5;
                ((mixed == 0).then(|| "x".into()), (mixed == 1).then(|| "y".into()))
            };
            let alone = played(&study, outcome);
            added(&mut study, more);
            let whole = played(&study, outcome);
            // Whenever it was added: what comes before it is the same.
            let at = at.min(alone.len());
            proptest::prop_assert_eq!(&whole[..at], &alone[..at]);
            let cut = cut.min(whole.len());
            let following = next(&study, &whole[..cut]).map(|slot| (slot.block, slot.position, slot.attempt));
            proptest::prop_assert_eq!(following, whole.get(cut).map(|t| (t.block, t.position, t.attempt)));
        }
    }
}
