//! What the rules of a diagnosis find in the trials of two arms, as a difference between the two.

use std::collections::{BTreeMap, BTreeSet};

use probe::Situation;
use serde::Serialize;
use study::{Intervention, Proof};

use super::waterfall::Change;
use crate::diagnosis::rules::{self, Costs};
use crate::diagnosis::{Cause, CauseId, Diagnosis, ServerTime, Subject, diagnose};

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
    /// Whether it costs the arm more, and not what that is held against. One of unknown size is of the arm.
    pub fn costs_more(&self) -> bool {
        self.change.as_ref().is_none_or(|change| change.difference() > 0.0)
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

/// What was found in one trial.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// By id: what it takes in the unit of the waterfall, where that is known.
    by_id: BTreeMap<CauseId, Option<f64>>,
    causes: BTreeMap<CauseId, Cause>,
    own: BTreeMap<CauseId, String>,
}

impl Found {
    /// Judges a trial. `unit_ns` of the time in which the server tried to go on are one of the waterfall's unit.
    pub fn of(situation: &Situation, unit_ns: f64) -> Self {
        let diagnosis = diagnose(situation);
        let active = diagnosis.time.as_ref().map_or(0.0, ServerTime::active_ns) / unit_ns;
        Self::in_unit(situation, &diagnosis, active)
    }

    /// Judges a trial, with shares of the time in which the server tried to go on.
    pub(super) fn with_diagnosis(situation: &Situation) -> (Self, Diagnosis) {
        let diagnosis = diagnose(situation);
        (Self::in_unit(situation, &diagnosis, 1.0), diagnosis)
    }

    /// `active` is the time in which the server tried to go on.
    fn in_unit(situation: &Situation, diagnosis: &Diagnosis, active: f64) -> Self {
        let Diagnosis { causes, own_work, .. } = diagnosis.clone();
        let mut found = Self::default();
        for cause in causes {
            let id = CauseId { rule: cause.id.rule.clone(), subject: subject(situation, &cause.id.subject) };
            // Several processes of one name are one program.
            let sum = found.by_id.entry(id.clone()).or_insert(Some(0.0));
            *sum = sum.zip(cause.share).map(|(sum, share)| sum + share * active);
            let known = found.causes.entry(id).or_insert_with(|| cause.clone());
            if known.share < cause.share {
                *known = cause;
            }
        }
        for own in own_work {
            let id = CauseId { rule: own.rule.into(), subject: Subject::Server };
            found.by_id.insert(id.clone(), Some(own.share * active));
            found.own.insert(id, own.what);
        }
        found
    }
}

impl Found {
    /// What was found, but for the server's own work.
    pub(super) fn ids(&self) -> impl Iterator<Item = &CauseId> {
        self.causes.keys()
    }

    /// What a cause takes; 0 where it was not found, or its size is not known.
    pub(super) fn share(&self, id: &CauseId) -> f64 {
        self.by_id.get(id).copied().flatten().unwrap_or(0.0)
    }

    /// The cause as it was found.
    pub(super) fn cause(&self, id: &CauseId) -> Option<&Cause> {
        self.causes.get(id)
    }
}

/// The same subject in every trial: numbers of processes are given anew.
fn subject(situation: &Situation, subject: &Subject) -> Subject {
    let Subject::Process { pid } = subject else { return subject.clone() };
    if situation.connections.peers.iter().any(|peer| peer.pid == *pid) {
        return Subject::Load;
    }
    let tasks = situation.account.iter().flat_map(|account| &account.tasks);
    let task = tasks.into_iter().find(|task| task.pid == *pid).map(|task| &task.comm);
    let busy = situation.busy.iter().find(|busy| busy.pid == *pid).map(|busy| &busy.comm);
    match task.or(busy) {
        Some(name) => Subject::Program { name: name.clone() },
        None => subject.clone(),
    }
}

/// From this share of the blocks on a cause whose size is not known is one of an arm.
const MOST_BLOCKS: f64 = 0.75;

/// What differs between the arms, largest first. `least` is what a claim has to take to be made, in the unit of the waterfall.
pub fn claims(blocks: &[(Found, Found)], least: f64) -> Vec<Claim> {
    let ids: BTreeSet<&CauseId> =
        blocks.iter().flat_map(|(a, b)| a.by_id.keys().chain(b.by_id.keys())).collect();
    let mut claims: Vec<Claim> = ids.into_iter().filter_map(|id| claim(id, blocks, least)).collect();
    let size = |claim: &Claim| claim.change.as_ref().map_or(0.0, |change| change.difference().abs());
    claims.sort_by(|a, b| size(b).total_cmp(&size(a)).then_with(|| a.id.cmp(&b.id)));
    claims
}

fn claim(id: &CauseId, blocks: &[(Found, Found)], least: f64) -> Option<Claim> {
    let costs = rules::all().find(|rule| rule.about().id == id.rule)?.about().costs;
    let size = |found: &Found| found.by_id.get(id).copied().unwrap_or(Some(0.0));
    let sizes: Option<Vec<(f64, f64)>> = blocks.iter().map(|(a, b)| size(a).zip(size(b))).collect();
    let (support, change) = match sizes {
        Some(sizes) => {
            let change = Change::of(&sizes);
            (change.is_there() && change.difference().abs() >= least)
                .then_some((Support::Supported, Some(change)))
        }
        None => {
            let share = |of: fn(&(Found, Found)) -> &Found| {
                blocks.iter().filter(|block| of(block).by_id.contains_key(id)).count() as f64
                    / blocks.len() as f64
            };
            let (arm, against) = (share(|block| &block.0), share(|block| &block.1));
            let one = arm.max(against) >= MOST_BLOCKS && arm.min(against) <= 1.0 - MOST_BLOCKS;
            one.then_some((Support::Possible, None))
        }
    }?;
    let all = || blocks.iter().flat_map(|(a, b)| [a, b]);
    let found: Vec<&Cause> = all().filter_map(|found| found.causes.get(id)).collect();
    let example = found.iter().max_by(|a, b| a.share.unwrap_or(0.0).total_cmp(&b.share.unwrap_or(0.0)));
    let example = example.map(|cause| lasting(cause, &found));
    let words = all().find_map(|found| found.own.get(id)).cloned().unwrap_or_default();
    let own_work = example.is_none();
    let (intervention, proof) = (None, None);
    Some(Claim { id: id.clone(), costs, support, change, own_work, example, words, intervention, proof })
}

/// The cause with only such settings as are about the same object in every trial: a process of one trial is gone in the next.
pub(super) fn lasting(cause: &Cause, found: &[&Cause]) -> Cause {
    let mut cause = cause.clone();
    for remedy in &mut cause.remedies {
        let is_in = |setting: &machine::Setting, other: &&Cause| {
            other
                .remedies
                .iter()
                .filter_map(|remedy| remedy.setting.as_ref())
                .any(|known| known.same_object(setting))
        };
        remedy.setting =
            remedy.setting.take().filter(|setting| found.iter().all(|other| is_in(setting, other)));
    }
    cause
}
