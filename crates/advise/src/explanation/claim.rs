//! What the rules of a diagnosis find in the trials of two arms, as a difference between the two.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde::Serialize;
use study::{Intervention, Proof};

use super::diagnosed_trials::{Found, largest};
use super::waterfall::{Change, MATTERS};
use crate::diagnosis::cause::tier;
use crate::diagnosis::rules::Costs;
use crate::diagnosis::{Cause, CauseId, Remedy, ShareOf, Subject, about};
use crate::judge;

/// How far a claim about two arms can be relied on; the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Support {
    /// The cause was moved, and the loss moved with it.
    Proved,
    /// What it takes differs between the arms, by the interval of the observed blocks.
    Supported,
    /// What it takes is not known, and something shows that it is of one arm ([`Evidence`]).
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

impl Side {
    /// The other arm.
    pub fn other(self) -> Self {
        match self {
            Self::Arm => Self::Against,
            Self::Against => Self::Arm,
        }
    }
}

/// What shows that a mechanism costs one arm more than the other. Changes have 95 % intervals that leave out 0.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "snake_case", tag = "by")]
pub enum Evidence {
    /// What it takes, in the unit of the waterfall.
    Cost {
        /// In both arms.
        #[serde(flatten)]
        change: Change,
    },
    /// It is found in most blocks of one arm and in few of the other. What it takes is not known.
    Presence {
        /// The arm that has it.
        found_in: Side,
    },
    /// It is found in both arms, and can take much more in one. What it takes is not known.
    AtMost {
        /// The most that it can take, in the unit of the waterfall.
        #[serde(flatten)]
        change: Change,
    },
    /// It happens much more often in one arm. What it takes is not known.
    Frequency {
        /// How often, per request.
        #[serde(flatten)]
        change: Change,
    },
}

impl Evidence {
    /// The arm that it costs more.
    pub fn costlier(&self) -> Side {
        match self {
            Self::Presence { found_in } => *found_in,
            Self::Cost { change } | Self::AtMost { change } | Self::Frequency { change } => {
                side(change.difference() > 0.0)
            }
        }
    }

    /// What it takes; `None` where that is not known.
    pub fn cost(&self) -> Option<&Change> {
        match self {
            Self::Cost { change } => Some(change),
            _ => None,
        }
    }
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
    /// What shows it.
    pub evidence: Evidence,
    /// Whether the arm that it costs more is the faster one all the same: it is no reason of the difference between the two.
    pub outweighed: bool,
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
        match self.evidence.costlier() {
            Side::Arm => (arm, against),
            Side::Against => (against, arm),
        }
    }

    /// What would help most; `None` for what comes with the faster placement, since removing it means leaving that placement. What others do
    /// can be moved away.
    pub fn remedy(&self) -> Option<&Remedy> {
        let of_placement = matches!(self.id.subject, Subject::Server | Subject::Load | Subject::Machine);
        let example = self.example.as_ref().filter(|_| !(self.outweighed && of_placement))?;
        example.remedies.first()
    }

    /// The claim with what a proof says of it.
    pub(super) fn judged(self, proof: Option<&Proof>) -> Self {
        let Some(proof) = proof else { return self };
        let support = match (proof.holds(), judge::refutes(proof)) {
            (true, _) => Support::Proved,
            (_, true) => Support::Refuted,
            // More blocks may decide it.
            _ => self.support,
        };
        Self { support, proof: Some(proof.clone()), ..self }
    }
}

/// A trial, with its times in the unit of the waterfall.
#[derive(Clone, Copy)]
pub(super) struct Scaled<'a> {
    pub(super) found: &'a Found,
    /// In which the server tried to go on.
    pub(super) active: f64,
    /// Of the threads that worked, whatever they did.
    pub(super) wall: f64,
}

impl Scaled<'_> {
    /// What a cause takes; `None` where it was found, and its cost is not known.
    fn size(&self, id: &CauseId) -> Option<f64> {
        self.found.share(id).map(|share| share * self.time_of(id))
    }

    /// The most that a cause can take, where that is known.
    fn size_at_most(&self, id: &CauseId) -> Option<f64> {
        self.found.share_at_most(id).map(|share| share * self.time_of(id))
    }

    /// What a cause's share is of.
    fn time_of(&self, id: &CauseId) -> f64 {
        let share_of = about(&id.rule).map(|about| about.costs.share_of());
        if share_of == Some(ShareOf::AllTime) { self.wall } else { self.active }
    }
}

/// A cause whose size is not known belongs to an arm if it is found in at least this share of its blocks.
const MOST_BLOCKS: f64 = 0.75;

/// What differs between the arms: first what makes the slower one slower, ranked as causes of a diagnosis are, then what is outweighed. `total`
/// is the whole of the waterfall, in its unit, of which a claim has to take a share that matters; `slower` is the slower arm, if it shows one.
pub(super) fn claims(blocks: &[(Scaled<'_>, Scaled<'_>)], total: f64, slower: Option<Side>) -> Vec<Claim> {
    let least = MATTERS * total;
    let ids: BTreeSet<&CauseId> =
        blocks.iter().flat_map(|(a, b)| a.found.ids().chain(b.found.ids())).collect();
    let mut claims: Vec<Claim> = ids.into_iter().filter_map(|id| claim(id, blocks, least)).collect();
    for claim in &mut claims {
        claim.outweighed = slower.is_some_and(|slower| slower != claim.evidence.costlier());
    }
    let size = |claim: &Claim| claim.evidence.cost().map_or(0.0, |change| change.difference().abs());
    let tier = |claim: &Claim| tier(claim.evidence.cost().map(|_| size(claim) / total));
    claims.sort_by(|a, b| {
        (a.outweighed, tier(a))
            .cmp(&(b.outweighed, tier(b)))
            .then(size(b).total_cmp(&size(a)))
            .then_with(|| a.id.cmp(&b.id))
    });
    claims
}

/// The arm, or the one that it is held against.
pub(super) fn side(is_arm: bool) -> Side {
    if is_arm { Side::Arm } else { Side::Against }
}

/// The arm in most of whose blocks a cause was found, if it was not found in most blocks of the other.
fn only_in(id: &CauseId, blocks: &[(Scaled<'_>, Scaled<'_>)]) -> Option<Side> {
    let (a, b): (Vec<bool>, Vec<bool>) =
        blocks.iter().map(|(a, b)| (a.found.has(id), b.found.has(id))).unzip();
    let share = |has: &[bool]| has.iter().filter(|has| **has).count() as f64 / has.len() as f64;
    let (arm, against) = (share(&a), share(&b));
    let one = arm.max(against) >= MOST_BLOCKS && arm.min(against) <= 1.0 - MOST_BLOCKS;
    one.then_some(side(arm > against))
}

/// The most that a cause can take, if that is known in all blocks and is much more in one arm.
fn more_in(id: &CauseId, blocks: &[(Scaled<'_>, Scaled<'_>)], least: f64) -> Option<Change> {
    let sizes: Option<Vec<(f64, f64)>> =
        blocks.iter().map(|(a, b)| a.size_at_most(id).zip(b.size_at_most(id))).collect();
    let change = Change::of(&sizes?);
    (change.is_there() && change.is_much() && change.difference().abs() >= least).then_some(change)
}

fn claim(id: &CauseId, blocks: &[(Scaled<'_>, Scaled<'_>)], least: f64) -> Option<Claim> {
    let costs = about(&id.rule)?.costs;
    let sizes: Option<Vec<(f64, f64)>> = blocks.iter().map(|(a, b)| a.size(id).zip(b.size(id))).collect();
    let evidence = match sizes {
        Some(sizes) => {
            let change = Change::of(&sizes);
            let matters = change.difference().abs() >= least;
            // One block of six in which it could not be seen makes the interval include 0; that it is in all others is worth saying. Fewer say nothing.
            let is_in = only_in(id, blocks).filter(|_| change.interval.is_some());
            match change.is_there() {
                true => Some(Evidence::Cost { change }),
                false => is_in.map(|found_in| Evidence::Presence { found_in }),
            }
            .filter(|_| matters)
        }
        None => only_in(id, blocks)
            .map(|found_in| Evidence::Presence { found_in })
            .or_else(|| more_in(id, blocks, least).map(|change| Evidence::AtMost { change })),
    }?;
    let support = if evidence.cost().is_some() { Support::Supported } else { Support::Possible };
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
        evidence,
        outweighed: false,
        own_work,
        example,
        words,
        intervention,
        proof,
    })
}
