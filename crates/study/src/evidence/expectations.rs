//! Whether what a gate demands holds: the whole interval on one side of the bound, or no answer. Pure.
//!
//! A multiple of another arm is judged by the ratio within blocks (Hodges-Lehmann, exact signed-rank interval); a number by the median of
//! the arm's trials, with the interval of order statistics (Conover, *Practical Nonparametric Statistics*, 3rd ed., section 3.2), which
//! assumes nothing of how they spread. The error is split evenly over all looks of the study and all its expectations, so that all
//! intervals hold together at the recipe's level, however early the study ended.

use std::collections::{BTreeMap, BTreeSet};

use super::gains::{differences, gains_by_arm, mean_by_block};
use super::{ArmStanding, Evidence, Judgement, Outcome, Trust, Unjudged, standing};
use crate::arm::Arm;
use crate::expectation::{Expectation, Relation, named};
use crate::recipe::Direction;
use crate::statistics::{median_interval, signed_rank, summary};
use crate::trial::Trial;

/// The level at which each is judged.
pub(super) fn confidence(alpha: f64, looks: usize, expectations: usize) -> f64 {
    1.0 - alpha / (looks.max(1) * expectations.max(1)) as f64
}

/// Judges each of `expectations` by trials that count; `evidence` is that of the same trials.
pub(super) fn of(
    expectations: &[Expectation],
    arms: &[Arm],
    trials: &[Trial],
    evidence: &Evidence,
    confidence: f64,
) -> Vec<Judgement> {
    let placed = standing::as_placed(arms, trials, &evidence.standings);
    let judging = Judging { arms, trials: &placed, evidence, confidence };
    expectations.iter().map(|expectation| judging.judge(expectation)).collect()
}

struct Judging<'a> {
    arms: &'a [Arm],
    trials: &'a [Trial],
    evidence: &'a Evidence,
    confidence: f64,
}

/// A location with its interval, where there are enough blocks for one.
struct Measured {
    blocks: usize,
    value: Option<f64>,
    interval: Option<(f64, f64)>,
    needed: usize,
}

impl Judging<'_> {
    fn judge(&self, expectation: &Expectation) -> Judgement {
        let subject = expectation.subject(self.arms);
        let reference = expectation.times.as_deref().map(|name| named(self.arms, name));
        let measured = match &reference {
            Some(reference) => self.ratio(&expectation.figure, &subject, reference),
            None => self.median(&expectation.figure, &subject),
        };
        let arm = subject.first().map_or_else(
            || expectation.arm.clone().unwrap_or_default(),
            |arm| if subject.len() > 1 { arm.title().into() } else { arm.name.clone() },
        );
        let involved: Vec<&Arm> = subject.iter().chain(reference.iter().flatten()).copied().collect();
        let outcome = self.outcome(expectation, (&subject, &involved), &measured);
        let Measured { blocks, value, interval, .. } = measured;
        let (expectation, confidence) = (expectation.clone(), self.confidence);
        Judgement { expectation, arm, blocks, value, interval, confidence, outcome }
    }

    fn outcome(
        &self,
        expectation: &Expectation,
        (subject, involved): (&[&Arm], &[&Arm]),
        measured: &Measured,
    ) -> Outcome {
        let standing = |arm: &&&Arm| self.evidence.standings.get(&arm.name);
        // Who serves nobody, or does harm, keeps no promise about service.
        if subject.iter().any(|arm| standing(&arm).is_some_and(ArmStanding::is_harm)) {
            return Outcome::Failed;
        }
        let cannot = |why| Outcome::CannotTell { why };
        if let Some(arm) = involved.iter().find(|arm| self.evidence.given_up.contains_key(&arm.name)) {
            return cannot(Unjudged::GivenUp { arm: arm.name.clone() });
        }
        if let Some(arm) = involved.iter().find(|arm| standing(arm).is_some()) {
            return cannot(Unjudged::NotAsAsked { arm: arm.name.clone() });
        }
        let has_figure = |arm: &&&Arm| {
            let mut own = self.trials.iter().filter(|trial| trial.arm == arm.name);
            own.any(|trial| trial.figures.contains_key(&expectation.figure))
        };
        if let Some(arm) = involved.iter().find(|arm| !has_figure(arm)) {
            return cannot(Unjudged::NoFigure { arm: arm.name.clone() });
        }
        if let Trust::Untrustworthy { .. } = self.evidence.trust {
            return cannot(Unjudged::Untrustworthy);
        }
        let (relation, bound) = (expectation.relation, expectation.bound);
        match measured.interval {
            None => cannot(Unjudged::TooFew { blocks: measured.blocks, needed: measured.needed }),
            Some((low, high)) if relation.holds(low, bound) && relation.holds(high, bound) => Outcome::Passed,
            Some((low, high)) if is_violated(relation, low, high, bound) => Outcome::Failed,
            Some(_) => cannot(Unjudged::Straddles),
        }
    }

    /// The figure of `subject` over that of `reference`, within blocks.
    fn ratio(&self, figure: &str, subject: &[&Arm], reference: &[&Arm]) -> Measured {
        let names: BTreeSet<&str> = subject.iter().chain(reference).map(|arm| arm.name.as_str()).collect();
        let arms: Vec<Arm> =
            self.arms.iter().filter(|arm| names.contains(arm.name.as_str())).cloned().collect();
        let (gains, blocks) = gains_by_arm(&arms, self.trials, figure, Direction::Higher);
        let of = |wanted: &[&Arm]| {
            let is_wanted = |arm: &Arm| wanted.iter().any(|of| of.name == arm.name);
            let rows = arms.iter().zip(&gains).filter(|(arm, _)| is_wanted(arm));
            mean_by_block(&rows.map(|(_, gains)| gains).collect::<Vec<_>>(), blocks)
        };
        let location = signed_rank::location(&differences(&of(subject), &of(reference)), self.confidence);
        Measured {
            blocks,
            value: location.map(|location| location.estimate.exp()),
            interval: location.and_then(|location| location.interval).map(|(a, b)| (a.exp(), b.exp())),
            needed: crate::design::fewest_blocks(1, 1.0 - self.confidence),
        }
    }

    /// The median of the figure over the blocks; of several runs in a block their mean.
    fn median(&self, figure: &str, subject: &[&Arm]) -> Measured {
        let mut by_block: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for trial in self.trials.iter().filter(|trial| subject.iter().any(|arm| arm.name == trial.arm)) {
            let figure = trial.figures.get(figure).copied().filter(|figure| figure.is_finite());
            figure.into_iter().for_each(|figure| by_block.entry(trial.block).or_default().push(figure));
        }
        let mean = |of: Vec<f64>| of.iter().sum::<f64>() / of.len() as f64;
        let values: Vec<f64> = by_block.into_values().map(mean).collect();
        Measured {
            blocks: values.len(),
            value: summary::median(&values),
            interval: median_interval::of(&values, self.confidence),
            needed: median_interval::fewest(self.confidence),
        }
    }
}

/// Whether no value from `low` to `high` is on the side that passes.
fn is_violated(relation: Relation, low: f64, high: f64, bound: f64) -> bool {
    match relation {
        Relation::AtLeast => high < bound,
        Relation::AtMost => low > bound,
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{dose_shows, set, simulate, weigh_all};
    use super::*;
    use crate::arm::each_cpu_in_turn;
    use crate::trial::{AsRun, Misplaced};

    fn arms() -> Vec<Arm> {
        each_cpu_in_turn(&set("0-3"), &set("0-3"), None).unwrap()
    }

    /// CPU 1 has 80 % of what the others have, of 10,000.
    fn trials(seed: u64, blocks: usize) -> Vec<Trial> {
        simulate(&arms(), blocks, seed, |arm| if arm.cpu == Some(1) { 0.8f64.ln() } else { dose_shows(arm) })
    }

    fn judged(texts: &[&str], trials: &[Trial]) -> Vec<Judgement> {
        judged_beside(texts, trials, &weigh_all(&arms(), trials))
    }

    fn judged_beside(texts: &[&str], trials: &[Trial], evidence: &Evidence) -> Vec<Judgement> {
        let expectations: Vec<Expectation> = texts.iter().map(|text| text.parse().unwrap()).collect();
        of(&expectations, &arms(), trials, evidence, confidence(0.04, 1, texts.len()))
    }

    fn outcomes(texts: &[&str], trials: &[Trial]) -> Vec<Outcome> {
        judged(texts, trials).into_iter().map(|judged| judged.outcome).collect()
    }

    #[test]
    fn the_whole_interval_passes_or_fails_and_a_bound_within_it_is_no_answer() {
        let ratios = [
            "requests_per_s of \"cpu 1\" >= 0.6 x baseline",
            "requests_per_s of \"cpu 1\" >= 0.97 x baseline",
            "requests_per_s of \"cpu 1\" <= 0.97 x \"cpu 2\"",
            "requests_per_s of \"cpu 2\" >= 1 x \"cpu 3\"",
        ];
        let straddles = Outcome::CannotTell { why: Unjudged::Straddles };
        let found = outcomes(&ratios, &trials(3, 14));
        assert_eq!(found, [Outcome::Passed, Outcome::Failed, Outcome::Passed, straddles]);
        let numbers = [
            "requests_per_s of \"cpu 1\" >= 4000",
            "requests_per_s of baseline <= 5000",
            "x of \"cpu 1\" >= 1",
        ];
        let no_figure = Outcome::CannotTell { why: Unjudged::NoFigure { arm: "cpu 1".into() } };
        assert_eq!(outcomes(&numbers, &trials(3, 14)), [Outcome::Passed, Outcome::Failed, no_figure]);
    }

    #[test]
    fn more_expectations_and_more_looks_widen_every_interval() {
        let one = judged(&["requests_per_s of \"cpu 1\" >= 0.8 x baseline"], &trials(5, 14));
        let five = judged(&["requests_per_s of \"cpu 1\" >= 0.8 x baseline"; 5], &trials(5, 14));
        let width = |of: &Judgement| of.interval.map(|(low, high)| high - low).unwrap();
        assert!(width(&five[0]) > width(&one[0]));
        assert!((confidence(0.04, 2, 4) - 0.995).abs() < 1e-12);
        let few = outcomes(&["requests_per_s of \"cpu 1\" >= 0.1 x baseline"; 5], &trials(5, 7));
        assert_eq!(few[0], Outcome::CannotTell { why: Unjudged::TooFew { blocks: 7, needed: 8 } });
    }

    /// The bound is the truth itself: it passes, and fails, no more often than half of the error each.
    #[test]
    fn a_false_pass_is_as_rare_as_it_says() {
        let (mut passed, mut failed) = (0, 0);
        for seed in 0..400 {
            match outcomes(&["requests_per_s of \"cpu 1\" >= 0.8 x baseline"], &trials(seed, 14))[0] {
                Outcome::Passed => passed += 1,
                Outcome::Failed => failed += 1,
                Outcome::CannotTell { .. } => {}
            }
        }
        assert!(passed <= 16 && failed <= 16, "{passed} passed and {failed} failed of 400");
    }

    #[test]
    fn an_arm_that_was_not_as_asked_proves_nothing_and_one_that_starves_fails() {
        let texts = ["requests_per_s of \"cpu 1\" >= 1 x baseline"];
        let elsewhere = Misplaced::Elsewhere { asked: set("1"), ran_on: set("0") };
        let with = |change: &dyn Fn(Trial) -> Trial| -> Vec<Trial> {
            let of = |trial: Trial| if trial.arm == "cpu 1" { change(trial) } else { trial };
            trials(3, 14).into_iter().map(of).collect()
        };
        let misplaced = with(&|trial| Trial {
            as_run: AsRun { misplaced: Some(elsewhere.clone()), ..AsRun::default() },
            ..trial
        });
        let not_as_asked = Outcome::CannotTell { why: Unjudged::NotAsAsked { arm: "cpu 1".into() } };
        assert_eq!(outcomes(&texts, &misplaced), [not_as_asked]);
        let starved = with(&|trial| Trial { starved: true, figures: BTreeMap::new(), ..trial });
        assert_eq!(outcomes(&texts, &starved), [Outcome::Failed]);
    }

    #[test]
    fn an_arm_that_was_given_up_passes_nothing_and_bounds_nothing() {
        let trials = trials(3, 14);
        let given_up = BTreeMap::from([("cpu 2".to_string(), "the load ended".to_string())]);
        let evidence = Evidence { given_up, ..weigh_all(&arms(), &trials) };
        let texts = ["requests_per_s of \"cpu 2\" >= 1", "requests_per_s of \"cpu 1\" >= 0.1 x \"cpu 2\""];
        let gone = Outcome::CannotTell { why: Unjudged::GivenUp { arm: "cpu 2".into() } };
        let judged = judged_beside(&texts, &trials, &evidence);
        assert!(judged.iter().all(|judged| judged.outcome == gone), "{judged:#?}");
    }
}
