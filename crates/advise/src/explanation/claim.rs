//! What the rules of a diagnosis find in the trials of two arms, as a difference between the two.

use std::collections::BTreeSet;

use serde::Serialize;
use study::{Intervention, Proof};

use super::judged::{Found, largest};
use super::waterfall::Change;
use crate::diagnosis::rules::Costs;
use crate::diagnosis::{Cause, CauseId, about};

/// How far a claim about two arms can be relied on; the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Support {
    /// The cause was moved, and the loss moved with it.
    Proved,
    /// What it takes differs between the arms, by the interval of the observed blocks.
    Supported,
    /// It is found in one arm in most blocks and not in the other, and what it takes is not known.
    Possible,
    /// The cause was moved, and the loss stayed or went the other way.
    Refuted,
}

impl Support {
    /// The word as it is printed.
    pub fn word(self) -> &'static str {
        match self {
            Self::Proved => "proved",
            Self::Supported => "supported",
            Self::Possible => "possible",
            Self::Refuted => "refuted",
        }
    }
}

/// Which of the two arms.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// The arm that is explained.
    Arm,
    /// The one that it is held against.
    Against,
}

/// A mechanism that costs one arm more than the other.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Claim {
    /// What it is known by, in every trial.
    pub id: CauseId,
    /// Which part of the server's time it takes.
    pub costs: Costs,
    /// How far it can be relied on.
    pub support: Support,
    /// What it takes, in the unit of the waterfall; `None` where that is not known.
    pub change: Option<Change>,
    /// In which arm it was found, or costs more. Of a size that is known, the change says it.
    pub found_in: Side,
    /// Whether it is the server's own work: nothing to move.
    pub own_work: bool,
    /// The cause as it was found in the trial in which it was largest; its numbers of processes are of that trial. `None` of own work.
    pub example: Option<Cause>,
    /// In words, where there is no example: `its own packets on lo`.
    pub words: String,
    /// The small study that would prove it; `None` where the cause cannot be moved.
    pub intervention: Option<Intervention>,
    /// How that came out, if it was run.
    pub proof: Option<Proof>,
}

impl Claim {
    /// The arm that it costs more, and the other one.
    pub fn costlier_first<T>(&self, arm: T, against: T) -> (T, T) {
        let of_arm = match &self.change {
            Some(change) => change.difference() > 0.0,
            None => self.found_in == Side::Arm,
        };
        if of_arm { (arm, against) } else { (against, arm) }
    }

    /// The claim with what a proof says of it.
    pub(super) fn judged(self, proof: Option<&Proof>) -> Self {
        let Some(proof) = proof else { return self };
        let support = match (proof.holds(), proof.refuted()) {
            (true, _) => Support::Proved,
            (_, true) => Support::Refuted,
            // More blocks may tell.
            _ => self.support,
        };
        Self { support, proof: Some(proof.clone()), ..self }
    }
}

/// A trial, with the time in which the server tried to go on in the unit of the waterfall.
#[derive(Clone, Copy)]
pub(super) struct Scaled<'a> {
    pub(super) found: &'a Found,
    pub(super) active: f64,
}

impl Scaled<'_> {
    /// What a cause takes; `None` where it was found, and its cost is not known.
    fn size(&self, id: &CauseId) -> Option<f64> {
        self.found.share(id).map(|share| share * self.active)
    }
}

/// From this share of the blocks on a cause whose size is not known is one of an arm.
const MOST_BLOCKS: f64 = 0.75;

/// What differs between the arms, largest first. `least` is what a claim has to take to be made, in the unit of the waterfall.
pub(super) fn claims(blocks: &[(Scaled<'_>, Scaled<'_>)], least: f64) -> Vec<Claim> {
    let ids: BTreeSet<&CauseId> =
        blocks.iter().flat_map(|(a, b)| a.found.ids().chain(b.found.ids())).collect();
    let mut claims: Vec<Claim> = ids.into_iter().filter_map(|id| claim(id, blocks, least)).collect();
    let size = |claim: &Claim| claim.change.as_ref().map_or(0.0, |change| change.difference().abs());
    claims.sort_by(|a, b| size(b).total_cmp(&size(a)).then_with(|| a.id.cmp(&b.id)));
    claims
}

fn claim(id: &CauseId, blocks: &[(Scaled<'_>, Scaled<'_>)], least: f64) -> Option<Claim> {
    let costs = about(&id.rule)?.costs;
    let sizes: Option<Vec<(f64, f64)>> = blocks.iter().map(|(a, b)| a.size(id).zip(b.size(id))).collect();
    let side = |is_arm: bool| if is_arm { Side::Arm } else { Side::Against };
    let (support, change, found_in) = match sizes {
        Some(sizes) => {
            let change = Change::of(&sizes);
            let found_in = side(change.difference() > 0.0);
            (change.is_there() && change.difference().abs() >= least).then_some((
                Support::Supported,
                Some(change),
                found_in,
            ))
        }
        None => {
            let (a, b): (Vec<bool>, Vec<bool>) =
                blocks.iter().map(|(a, b)| (a.found.has(id), b.found.has(id))).unzip();
            let share = |has: &[bool]| has.iter().filter(|has| **has).count() as f64 / has.len() as f64;
            let (arm, against) = (share(&a), share(&b));
            let one = arm.max(against) >= MOST_BLOCKS && arm.min(against) <= 1.0 - MOST_BLOCKS;
            one.then_some((Support::Possible, None, side(arm > against)))
        }
    }?;
    let all = || blocks.iter().flat_map(|(a, b)| [a.found, b.found]);
    let found: Vec<&Cause> = all().filter_map(|found| found.cause(id)).collect();
    let example = largest(&found);
    let words = all().find_map(|found| found.own_work(id)).cloned().unwrap_or_default();
    let own_work = example.is_none();
    let (intervention, proof) = (None, None);
    Some(Claim {
        id: id.clone(),
        costs,
        support,
        change,
        found_in,
        own_work,
        example,
        words,
        intervention,
        proof,
    })
}
