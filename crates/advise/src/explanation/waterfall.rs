//! The way from the time of one arm to that of another, term by term.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use study::statistics::signed_rank;

use super::term::{Leaf, Part, Term, Terms};

/// Level of the intervals.
pub const LEVEL: f64 = 0.95;

/// A claim or a term below this share of the time of a request is left out.
pub const MATTERS: f64 = 0.01;

/// A count, or an upper bound, may explain one arm if it is at least so many times the other's.
const MUCH_MORE: f64 = 2.0;

/// One observed block: the terms of both arms, in the unit that the waterfall is reported in.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// Of the arm.
    pub arm: Terms,
    /// Of the arm that it is held against.
    pub against: Terms,
}

/// A change of one term, or of a part of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Change {
    /// In the arm that it is held against: mean over blocks.
    pub from: f64,
    /// In the arm.
    pub to: f64,
    /// 95 % interval of the difference, by the signed rank of the blocks; `None` with fewer than six of them.
    pub interval: Option<(f64, f64)>,
}

impl Change {
    /// From per-block differences.
    pub(super) fn of(pairs: &[(f64, f64)]) -> Self {
        let mean = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>() / pairs.len().max(1) as f64;
        let differences: Vec<f64> = pairs.iter().map(|(arm, against)| arm - against).collect();
        let interval = signed_rank::location(&differences, LEVEL).and_then(|location| location.interval);
        Self { from: mean(|pair| pair.1), to: mean(|pair| pair.0), interval }
    }

    /// The difference of the means.
    pub fn difference(&self) -> f64 {
        self.to - self.from
    }

    /// In the arm that has more of it.
    pub fn larger(&self) -> f64 {
        self.to.max(self.from)
    }

    /// In the arm that has less of it.
    pub fn smaller(&self) -> f64 {
        self.to.min(self.from)
    }

    /// Whether one arm has at least twice as much of it as the other.
    pub fn is_much(&self) -> bool {
        self.larger() >= MUCH_MORE * self.smaller()
    }

    /// Whether it is a difference: its interval leaves out 0.
    pub fn is_there(&self) -> bool {
        self.interval.is_some_and(|(low, high)| low > 0.0 || high < 0.0)
    }

    /// Whether it may be one: it is there, or there are too few blocks to tell.
    pub fn may_be_there(&self) -> bool {
        self.interval.is_none() || self.is_there()
    }
}

/// A step of the waterfall.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Step {
    /// The term.
    pub term: Term,
    /// Its change.
    #[serde(flatten)]
    pub change: Change,
    /// Its parts, those that changed most first; they add up to it.
    pub parts: Vec<PartStep>,
}

/// A part of a step.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PartStep {
    /// Who or what.
    pub part: Part,
    /// Its change.
    #[serde(flatten)]
    pub change: Change,
}

/// From one arm's time to another's. The differences of the steps add up to the difference of the totals.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Waterfall {
    /// All of the time.
    pub total: Change,
    /// By term, those that changed most first.
    pub steps: Vec<Step>,
    /// The server's own time on CPUs, user mode and kernel together: ticks distinguish the two, and err.
    pub own: Change,
}

/// Adds up the steps between the arms of these blocks.
pub fn waterfall(pairs: &[Pair]) -> Waterfall {
    let leaves: BTreeSet<&Leaf> =
        pairs.iter().flat_map(|pair| pair.arm.ns.keys().chain(pair.against.ns.keys())).collect();
    let mut by_term: BTreeMap<Term, Vec<&Leaf>> = BTreeMap::new();
    leaves.into_iter().for_each(|leaf| by_term.entry(leaf.0).or_default().push(leaf));
    let sum =
        |terms: &Terms, leaves: &[&Leaf]| leaves.iter().filter_map(|leaf| terms.ns.get(*leaf)).sum::<f64>();
    let change = |leaves: &[&Leaf]| {
        let both: Vec<(f64, f64)> =
            pairs.iter().map(|pair| (sum(&pair.arm, leaves), sum(&pair.against, leaves))).collect();
        Change::of(&both)
    };
    let own = [Term::User, Term::Kernel, Term::Own].iter().filter_map(|term| by_term.get(term));
    let own = change(&own.flatten().copied().collect::<Vec<_>>());
    let mut steps: Vec<Step> = by_term
        .into_iter()
        .map(|(term, leaves)| {
            let part = |leaf: &&Leaf| PartStep { part: leaf.1.clone(), change: change(&[*leaf]) };
            let mut parts: Vec<PartStep> = leaves.iter().map(part).collect();
            parts.sort_by(|a, b| larger(&a.change, &b.change));
            Step { term, change: change(&leaves), parts }
        })
        .collect();
    steps.sort_by(|a, b| larger(&a.change, &b.change));
    let totals: Vec<(f64, f64)> =
        pairs.iter().map(|pair| (pair.arm.total_ns(), pair.against.total_ns())).collect();
    Waterfall { total: Change::of(&totals), steps, own }
}

fn larger(a: &Change, b: &Change) -> std::cmp::Ordering {
    b.difference().abs().total_cmp(&a.difference().abs())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const PARTS: [Leaf; 4] = [
        (Term::Own, Part::Rest),
        (Term::Waiting, Part::Load),
        (Term::Waiting, Part::Rest),
        (Term::Asleep, Part::Rest),
    ];

    fn terms(ns: [f64; 4]) -> Terms {
        Terms { ns: PARTS.iter().cloned().zip(ns).filter(|(_, ns)| *ns > 0.0).collect(), threads: 1 }
    }

    proptest! {
        #[test]
        fn steps_add_up_to_the_difference_and_parts_to_their_step(
            blocks in prop::collection::vec((prop::array::uniform4(0.0..1e6f64), prop::array::uniform4(0.0..1e6f64)), 1..9)
        ) {
            let pairs: Vec<Pair> = blocks.iter().map(|(a, b)| Pair { arm: terms(*a), against: terms(*b) }).collect();
            let fall = waterfall(&pairs);
            let near = |a: f64, b: f64| (a - b).abs() < 1e-3;
            let steps: f64 = fall.steps.iter().map(|step| step.change.difference()).sum();
            prop_assert!(near(steps, fall.total.difference()));
            for step in &fall.steps {
                let parts: f64 = step.parts.iter().map(|part| part.change.difference()).sum();
                prop_assert!(near(parts, step.change.difference()));
            }
        }
    }

    #[test]
    fn what_changed_most_comes_first_and_has_an_interval_from_six_blocks_on() {
        let pair = |more: f64| Pair {
            arm: terms([100.0, 50.0 + more, 1.0, 0.0]),
            against: terms([90.0, 20.0, 1.0, 5.0]),
        };
        let six: Vec<Pair> = (0..6).map(|block| pair(f64::from(block))).collect();
        let fall = waterfall(&six);
        let order: Vec<Term> = fall.steps.iter().map(|step| step.term).collect();
        assert_eq!(order, [Term::Waiting, Term::Own, Term::Asleep]);
        assert!(fall.steps[0].change.is_there() && fall.steps[0].parts[0].part == Part::Load);
        assert_eq!(fall.steps[0].change.interval, Some((30.0, 35.0)));
        let five = waterfall(&six[..5]);
        assert!(five.total.interval.is_none() && !five.total.is_there());
    }
}
