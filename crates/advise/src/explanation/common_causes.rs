//! What costs the server time in every arm: no placement of the study takes it away, and no contrast shows it.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;
use study::Facts;
use study::statistics::summary::median;

use super::diagnosed_trials::{Found, OfArm, largest};
use super::server_busy::server_busy;
use crate::diagnosis::limit::FULL;
use crate::diagnosis::rules::Costs;
use crate::diagnosis::{Cause, CauseId, Limit, Subject, about};

/// A cause is common to all arms if it takes at least this share of the server's time in each of them.
const EVERYWHERE: f64 = 0.05;

/// A mechanism that costs every arm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CommonCause {
    /// What it is known by, in every trial.
    pub id: CauseId,
    /// Which part of the server's time it takes.
    pub costs: Costs,
    /// Its share of the server's time ([`Cause::share`]), 0 to 1, by arm: medians over trials.
    pub share_by_arm: BTreeMap<String, f64>,
    /// The cause as it was found in the trial in which it was largest.
    pub example: Cause,
}

/// Every arm's diagnosis, put together.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct EveryArm {
    /// What costs all of them, largest first.
    pub causes: Vec<CommonCause>,
    /// The limit that holds in most observed trials of each arm; not known where the trials that decide do not bear it out.
    pub limit_by_arm: BTreeMap<String, Limit>,
}

/// Puts the judgements of all arms together.
pub(super) fn every_arm(facts: &Facts, by_arm: &BTreeMap<&str, OfArm<'_>>) -> EveryArm {
    let limits = by_arm.iter().map(|(arm, trials)| {
        let limit = borne_out(usual_limit(trials), server_busy(facts, arm));
        ((*arm).to_string(), limit)
    });
    EveryArm { causes: causes(by_arm), limit_by_arm: limits.collect() }
}

/// The limit, if the trials that decide agree: the load is not the limit if the server is full there, or if it is not known how busy it is. An
/// account that misses processes of the server sees it idle.
fn borne_out(limit: Limit, server_busy: Option<f64>) -> Limit {
    let has_room = || server_busy.is_some_and(|busy| busy < FULL);
    if limit == Limit::Load && !has_room() { Limit::Unknown } else { limit }
}

/// The limit of most trials; of several that are equally frequent, the first in their order.
fn usual_limit(trials: &OfArm<'_>) -> Limit {
    let mut counts: BTreeMap<Limit, usize> = BTreeMap::new();
    trials.values().for_each(|judged| *counts.entry(judged.limit).or_default() += 1);
    counts
        .into_iter()
        .max_by_key(|(limit, count)| (*count, std::cmp::Reverse(*limit)))
        .map_or(Limit::Unknown, |(limit, _)| limit)
}

fn causes(by_arm: &BTreeMap<&str, OfArm<'_>>) -> Vec<CommonCause> {
    let Some(first) = by_arm.values().next() else { return Vec::new() };
    let ids: BTreeSet<&CauseId> = first.values().flat_map(|judged| judged.found.ids()).collect();
    let common = |id: &CauseId| {
        let mut share_by_arm = BTreeMap::new();
        for (arm, trials) in by_arm {
            let shares: Vec<f64> = trials.values().map(|judged| found_share(&judged.found, id)).collect();
            share_by_arm.insert((*arm).to_string(), median(&shares).filter(|share| *share >= EVERYWHERE)?);
        }
        let all = by_arm.values().flat_map(BTreeMap::values);
        let found: Vec<&Cause> = all.filter_map(|judged| judged.found.cause(id)).collect();
        // The server's own work has none.
        let example = largest(&found)?;
        Some(CommonCause { id: id.clone(), costs: about(&id.rule)?.costs, share_by_arm, example })
    };
    // If the load of a closed loop is slower than the server, that is reported as the limit of all arms.
    let is_cause = |id: &&CauseId| id.subject != Subject::Load || id.rule != "slow-client";
    let mut causes: Vec<CommonCause> = ids.into_iter().filter(is_cause).filter_map(common).collect();
    let smallest = |cause: &CommonCause| cause.share_by_arm.values().copied().fold(f64::INFINITY, f64::min);
    causes.sort_by(|a, b| smallest(b).total_cmp(&smallest(a)).then_with(|| a.id.cmp(&b.id)));
    causes
}

/// The share of what was found. What the same takes where its mechanism is not at work is no cost of the mechanism.
fn found_share(found: &Found, id: &CauseId) -> f64 {
    if found.has(id) { found.share(id).unwrap_or(0.0) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_load_is_the_limit_where_the_server_is_known_to_have_room() {
        assert_eq!(borne_out(Limit::Load, Some(0.44)), Limit::Load);
        assert_eq!(borne_out(Limit::Load, Some(0.97)), Limit::Unknown);
        assert_eq!(borne_out(Limit::Load, None), Limit::Unknown);
        assert_eq!(borne_out(Limit::Quota, Some(0.97)), Limit::Quota);
    }
}
