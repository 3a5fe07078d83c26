//! Arms in which work stalls at regular distances: a pause of the server's own, or of the machine. Placements hardly change it.

use serde::Serialize;
use study::Facts;
use study::statistics::stalls::{Regular, Run, regular};

/// How likely it may be, over all arms together, that chance makes the distances so equal.
const ALPHA: f64 = 0.01;

/// An arm whose trials stall at regular distances.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Stalled {
    /// The arm.
    pub arm: String,
    /// Trials in which there were stalls.
    pub trials: usize,
    /// All trials of the arm in which stalls can be seen.
    pub of_trials: usize,
    /// Their distance, and what each takes.
    #[serde(flatten)]
    pub regular: Regular,
}

/// Every arm that does, in the order of the study. Only trials that decide count.
pub(super) fn stalled(facts: &Facts) -> Vec<Stalled> {
    let arms = &facts.study.arms;
    let of_arm = |arm: &study::Arm| {
        let trials = facts.trials.iter().map(|seen| &seen.trial).filter(|trial| trial.arm == arm.name);
        let runs: Vec<Run<'_>> = trials
            .filter(|trial| trial.failed.is_none())
            .filter_map(|trial| trial.within.as_ref())
            .filter(|within| within.step_s > 0.0)
            .map(|within| Run { stalls: &within.stalls, intervals: within.intervals, step_s: within.step_s })
            .collect();
        let regular = regular(&runs).filter(|regular| regular.p * arms.len() as f64 <= ALPHA)?;
        let trials = runs.iter().filter(|run| !run.stalls.is_empty()).count();
        Some(Stalled { arm: arm.name.clone(), trials, of_trials: runs.len(), regular })
    };
    arms.iter().filter_map(of_arm).collect()
}

#[cfg(test)]
mod tests {
    use study::Within;
    use study::statistics::stalls::Stall;

    use super::*;
    use crate::case_builder;

    /// A case whose trials all stall at these times of a window of 12 s.
    fn facts(at_s: &[f64]) -> Facts {
        let mut facts = case_builder::steered();
        let stalls: Vec<Stall> = at_s.iter().map(|at_s| Stall { at_s: *at_s, lost_s: 0.085 }).collect();
        for seen in &mut facts.trials {
            seen.trial.within = Some(Within {
                intervals: 120,
                error_share: None,
                changes: 0,
                step_s: 0.1,
                stalls: stalls.clone(),
            });
        }
        facts
    }

    #[test]
    fn arms_that_stall_at_regular_distances_are_named() {
        let found = stalled(&facts(&[1.0, 3.0, 5.0, 7.1, 9.1]));
        assert!(!found.is_empty());
        let first = &found[0];
        assert!((first.regular.period_s - 2.0).abs() < 1e-9 && first.regular.lost_s == 0.085, "{first:?}");
        assert_eq!(first.trials, first.of_trials);
    }

    #[test]
    fn stalls_at_any_distance_and_none_at_all_are_not() {
        assert_eq!(stalled(&facts(&[1.0, 1.8, 5.0, 9.9, 11.0])), []);
        assert_eq!(stalled(&facts(&[])), []);
        let mut old = facts(&[1.0, 3.0, 5.0, 7.0]);
        old.trials
            .iter_mut()
            .filter_map(|seen| seen.trial.within.as_mut())
            .for_each(|within| within.step_s = 0.0);
        assert_eq!(stalled(&old), [], "an older pinwise did not look");
    }
}
