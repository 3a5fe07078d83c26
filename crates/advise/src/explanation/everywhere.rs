//! What costs the server time in every arm: no placement of the study takes it away, and no contrast shows it.

use std::collections::BTreeMap;

use serde::Serialize;
use study::Facts;
use study::statistics::summary::median;

use super::claim::{Found, lasting};
use crate::diagnosis::rules::Costs;
use crate::diagnosis::{Cause, CauseId, Diagnosis, Limit, Subject};

/// From this share of the time in which the server tried to go on, in every arm, a cause is one of all.
const EVERYWHERE: f64 = 0.05;

/// A mechanism that costs every arm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Everywhere {
    /// What it is known by, in every trial.
    pub id: CauseId,
    /// Which part of the server's time it takes.
    pub costs: Costs,
    /// Its share of the time in which the server tried to go on, 0 to 1, by arm: medians over trials. Sleep of the server has a share of
    /// what it could do instead.
    pub share_by_arm: BTreeMap<String, f64>,
    /// The cause as it was found in the trial in which it was largest.
    pub example: Cause,
}

/// Every arm's diagnosis, put together.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct EveryArm {
    /// What costs all of them, largest first.
    pub causes: Vec<Everywhere>,
    /// The limit that holds in most trials of each arm.
    pub limit_by_arm: BTreeMap<String, Limit>,
}

/// Judges every observed trial by itself.
pub fn every_arm(facts: &Facts) -> EveryArm {
    let mut by_arm: BTreeMap<String, Vec<(Found, Diagnosis)>> = BTreeMap::new();
    for seen in &facts.observed {
        if let Some(observed) = &seen.observed {
            let judged = Found::with_diagnosis(&observed.situation);
            by_arm.entry(seen.trial.arm.clone()).or_default().push(judged);
        }
    }
    let limits = by_arm.iter().map(|(arm, judged)| (arm.clone(), usual_limit(judged)));
    EveryArm { causes: causes(&by_arm), limit_by_arm: limits.collect() }
}

/// The limit of most trials; the first by its order where several are as many.
fn usual_limit(judged: &[(Found, Diagnosis)]) -> Limit {
    let mut counts: BTreeMap<Limit, usize> = BTreeMap::new();
    judged.iter().for_each(|(_, diagnosis)| *counts.entry(diagnosis.limit).or_default() += 1);
    counts
        .into_iter()
        .max_by_key(|(limit, count)| (*count, std::cmp::Reverse(*limit)))
        .map_or(Limit::Unknown, |(limit, _)| limit)
}

fn causes(by_arm: &BTreeMap<String, Vec<(Found, Diagnosis)>>) -> Vec<Everywhere> {
    let Some(first) = by_arm.values().next() else { return Vec::new() };
    let ids: std::collections::BTreeSet<&CauseId> = first.iter().flat_map(|(found, _)| found.ids()).collect();
    let everywhere = |id: &CauseId| {
        let mut share_by_arm = BTreeMap::new();
        for (arm, judged) in by_arm {
            let shares: Vec<f64> = judged.iter().map(|(found, _)| found.share(id)).collect();
            share_by_arm.insert(arm.clone(), median(&shares).filter(|share| *share >= EVERYWHERE)?);
        }
        let found: Vec<&Cause> = by_arm.values().flatten().filter_map(|(found, _)| found.cause(id)).collect();
        let largest =
            found.iter().max_by(|a, b| a.share.unwrap_or(0.0).total_cmp(&b.share.unwrap_or(0.0)))?;
        let costs = crate::diagnosis::rules::all().find(|rule| rule.about().id == id.rule)?.about().costs;
        Some(Everywhere { id: id.clone(), costs, share_by_arm, example: lasting(largest, &found) })
    };
    // A closed loop's load that is slower than the server is the limit of all arms, and said as that.
    let is_cause = |id: &&CauseId| id.subject != Subject::Load || id.rule != "slow-client";
    let mut causes: Vec<Everywhere> = ids.into_iter().filter(is_cause).filter_map(everywhere).collect();
    let smallest = |cause: &Everywhere| cause.share_by_arm.values().copied().fold(f64::INFINITY, f64::min);
    causes.sort_by(|a, b| smallest(b).total_cmp(&smallest(a)).then_with(|| a.id.cmp(&b.id)));
    causes
}
