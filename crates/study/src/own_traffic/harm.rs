//! What the guards of a study ended, and what is left of its budget of harm.
//!
//! An arm that a guard ended does not run again. Its trials are in no comparison: cut short, they would flatter it or leave a gap, and
//! either is less than what is known of it, which is that it was harmful. The baseline is what production has anyway: what breaches a
//! guard there is the traffic's doing, and is counted by itself.

use std::collections::BTreeMap;

use load::guard::Breach;
use load::{LoadSpec, latency};
use serde::{Deserialize, Serialize};

use crate::arm::Role;
use crate::case::Resolved;
use crate::recipe::Recipe;
use crate::trial::Trial;

/// So many trials of the baseline that a guard ended end the study: then the guard does not fit the traffic.
pub const MOST_BASELINE_BREACHES: usize = 2;

/// Share of the requests of all trials that may be slower than the guards allow, where the recipe does not say how many; more where guards
/// let more pass ([`slow_share`]).
pub const SLOW_SHARE: f64 = 0.01;

/// A trial that a guard ended.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Breached {
    /// Number of the trial.
    pub trial: usize,
    /// Its block, from 0.
    pub block: usize,
    /// Its arm.
    pub arm: String,
    /// Whether that is the baseline.
    pub baseline: bool,
    /// What was breached, and by what.
    pub breach: Breach,
}

/// Requests that were slower than the guards on latency allow, in trials of other arms than the baseline.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlowRequests {
    /// So far.
    pub so_far: u64,
    /// At most; `None` until a trial of the baseline has shown how many requests there are.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub most: Option<u64>,
}

/// Why a study ended before its last block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "by", rename_all = "kebab-case")]
pub enum EndedBy {
    /// Guards ended so many trials of arms that are tried, or nothing was answered in them.
    Breaches {
        /// How many.
        trials: usize,
    },
    /// Guards ended so many trials of the baseline.
    BaselineBreaches {
        /// How many.
        trials: usize,
    },
    /// The requests that may be slower than the guards allow are used up.
    SlowRequests {
        /// How many there were.
        so_far: u64,
        /// How many there may be.
        most: u64,
    },
}

/// What the guards of a study saw.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Harm {
    /// Trials that a guard ended, in order of time.
    pub breached: Vec<Breached>,
    /// Requests that were slower than the guards allow; `None` where no trial counts them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slow_requests: Option<SlowRequests>,
    /// Why the study ended before its last block; `None` where it did not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended: Option<EndedBy>,
}

/// What the guards saw; `None` of a study whose load is not the server's own traffic.
pub fn of(study: &Resolved, trials: &[Trial]) -> Option<Harm> {
    if !study.recipe.has_own_traffic() {
        return None;
    }
    let breached = breached(study, trials);
    let slow_requests = slow_requests(study, trials);
    let starved = trials.iter().filter(|trial| trial.starved && !is_of_baseline(study, trial)).count();
    let ended = ended_by(study, &breached, starved, slow_requests);
    Some(Harm { breached, slow_requests, ended })
}

/// Why no further trial runs; `None` where one may.
pub fn ended(study: &Resolved, trials: &[Trial]) -> Option<EndedBy> {
    of(study, trials)?.ended
}

/// Arms that a guard ended, by index, and the block in which it did. The baseline is none of them. One that answered nothing where the
/// baseline answered much is among them: no guard sees what is never answered.
pub fn ended_arms(study: &Resolved, trials: &[Trial]) -> BTreeMap<usize, usize> {
    let mut ended = BTreeMap::new();
    if !study.recipe.has_own_traffic() {
        return ended;
    }
    for trial in trials.iter().filter(|trial| trial.breach.is_some() || trial.starved) {
        let arm = study.arms.iter().position(|arm| arm.name == trial.arm && arm.role != Role::Baseline);
        if let Some(arm) = arm {
            ended.entry(arm).or_insert(trial.block);
        }
    }
    ended
}

/// The first trial of each arm that a guard ended, by the arm's name; without the baseline.
pub fn first_breaches<'a>(
    study: &Resolved,
    trials: &'a [Trial],
) -> BTreeMap<String, (&'a Trial, &'a Breach)> {
    let mut first = BTreeMap::new();
    for trial in trials.iter().filter(|trial| !is_of_baseline(study, trial)) {
        if let Some(breach) = &trial.breach {
            first.entry(trial.arm.clone()).or_insert((trial, breach));
        }
    }
    first
}

fn is_of_baseline(study: &Resolved, trial: &Trial) -> bool {
    crate::arm::is_of_baseline(&study.arms, &trial.arm)
}

fn breached(study: &Resolved, trials: &[Trial]) -> Vec<Breached> {
    let of = |trial: &Trial| {
        Some(Breached {
            trial: trial.index,
            block: trial.block,
            arm: trial.arm.clone(),
            baseline: is_of_baseline(study, trial),
            breach: trial.breach.clone()?,
        })
    };
    trials.iter().filter_map(of).collect()
}

fn ended_by(
    study: &Resolved,
    breached: &[Breached],
    starved: usize,
    slow: Option<SlowRequests>,
) -> Option<EndedBy> {
    let of_baseline = breached.iter().filter(|breached| breached.baseline).count();
    let others = breached.len() - of_baseline + starved;
    if of_baseline >= MOST_BASELINE_BREACHES {
        return Some(EndedBy::BaselineBreaches { trials: of_baseline });
    }
    if others >= study.recipe.harm.most_breaches.max(1) {
        return Some(EndedBy::Breaches { trials: others });
    }
    let SlowRequests { so_far, most } = slow?;
    most.filter(|most| so_far >= *most).map(|most| EndedBy::SlowRequests { so_far, most })
}

/// What was slower than the guards allow, and the bound on it.
fn slow_requests(study: &Resolved, trials: &[Trial]) -> Option<SlowRequests> {
    let slow = |trial: &Trial| trial.traffic.as_ref()?.slow_requests;
    if !trials.iter().any(|trial| slow(trial).is_some()) {
        return None;
    }
    let others = trials.iter().filter(|trial| !is_of_baseline(study, trial)).filter_map(slow);
    let most = study.recipe.harm.most_slow_requests.or_else(|| share_of_all(study, trials));
    Some(SlowRequests { so_far: others.fold(0, u64::saturating_add), most })
}

/// [`SLOW_SHARE`], or what the guards on quantiles let pass where that is more: a tenth, of one on p90 alone.
pub fn slow_share(recipe: &Recipe) -> f64 {
    let LoadSpec::OwnTraffic(own) = &recipe.load else { return SLOW_SHARE };
    let pass = own.guards.iter().filter_map(|guard| latency::quantile_of(&guard.figure));
    let least = pass.map(|quantile| 1.0 - quantile).reduce(f64::min);
    // That of p99 is the same share, but for what is rounded off.
    least.filter(|pass| *pass > SLOW_SHARE + 1e-9).unwrap_or(SLOW_SHARE)
}

/// [`slow_share`] of what all trials would see at the rate of the first whole trial of the baseline: fixed from then on, however the
/// traffic goes.
fn share_of_all(study: &Resolved, trials: &[Trial]) -> Option<u64> {
    let is_whole = |trial: &&Trial| trial.failed.is_none() && trial.breach.is_none();
    let mut of_baseline = trials.iter().filter(is_whole).filter(|trial| is_of_baseline(study, trial));
    let per_s =
        of_baseline.find_map(|trial| trial.figures.get("requests_per_s").filter(|rate| **rate > 0.0))?;
    let budget = &study.recipe.budget;
    let trials: usize = study.order.iter().map(Vec::len).sum();
    let requests = per_s * (budget.window_s + budget.warm_up_cap_s) * trials as f64;
    Some((requests * slow_share(&study.recipe)).ceil().max(1.0) as u64)
}

#[cfg(test)]
pub(crate) mod tests {
    use load::guard;
    use load::guard::Certainty;
    use load::outcome::traffic::Traffic;

    use super::*;
    use crate::case::tests::resolved;

    /// A study of five arms in two blocks whose load is the server's own traffic.
    pub(crate) fn own_traffic() -> Resolved {
        let mut study = resolved();
        study.recipe.load = LoadSpec::named("own-traffic").unwrap();
        study
    }

    pub(crate) fn breach(value: f64) -> guard::Breach {
        guard::Breach {
            guard: "latency_p99_us <= 20000".into(),
            figure: "latency_p99_us".into(),
            value,
            limit: 20_000.0,
            requests: 120,
            seen_ns: 2_000_000_000,
            slice_began_ns: 1_900_000_000,
            certainty: Certainty::Counted,
        }
    }

    fn name_of(study: &Resolved, role: Role) -> String {
        study.arms.iter().find(|arm| arm.role == role).unwrap().name.clone()
    }

    fn trial(study: &Resolved, index: usize, role: Role, ended: bool) -> Trial {
        let figures = [("requests_per_s".to_string(), 1000.0)].into();
        let arm = name_of(study, role);
        Trial { index, arm, figures, breach: ended.then(|| breach(31_000.0)), ..Trial::default() }
    }

    #[test]
    fn one_breach_ends_an_arm_and_two_end_the_study() {
        let study = own_traffic();
        let one = [trial(&study, 0, Role::Baseline, false), trial(&study, 1, Role::Candidate, true)];
        let at = study.arms.iter().position(|arm| arm.name == one[1].arm).unwrap();
        assert_eq!(ended_arms(&study, &one), BTreeMap::from([(at, 0)]));
        assert_eq!(ended(&study, &one), None);
        let two = [one[0].clone(), one[1].clone(), trial(&study, 2, Role::Candidate, true)];
        assert_eq!(ended(&study, &two), Some(EndedBy::Breaches { trials: 2 }));
        let driven = resolved();
        assert_eq!((ended(&driven, &two), of(&driven, &two)), (None, None), "another load has no guards");
    }

    #[test]
    fn the_baseline_is_counted_by_itself_and_never_given_up() {
        let study = own_traffic();
        let one = trial(&study, 0, Role::Baseline, true);
        let mixed = [one.clone(), trial(&study, 1, Role::Candidate, true)];
        assert_eq!(ended(&study, &mixed), None, "one of each");
        let both = [one.clone(), Trial { index: 1, ..one }];
        assert!(ended_arms(&study, &both).is_empty());
        assert_eq!(ended(&study, &both), Some(EndedBy::BaselineBreaches { trials: 2 }));
        assert!(of(&study, &both).unwrap().breached.iter().all(|breached| breached.baseline));
    }

    #[test]
    fn slow_requests_of_the_baseline_are_no_harm_and_those_of_others_are_bounded() {
        let mut study = own_traffic();
        let slow = |role, count| {
            let traffic = Traffic { slow_requests: Some(count), ..Traffic::default() };
            Trial { traffic: Some(traffic), ..trial(&study, 0, role, false) }
        };
        let trials = [slow(Role::Baseline, 50), slow(Role::Candidate, 30)];
        let budget = &study.recipe.budget;
        let planned = study.order.iter().map(Vec::len).sum::<usize>() as f64;
        let most = (1000.0 * (budget.window_s + budget.warm_up_cap_s) * planned * SLOW_SHARE).ceil() as u64;
        let seen = of(&study, &trials).unwrap();
        assert_eq!(seen.slow_requests, Some(SlowRequests { so_far: 30, most: Some(most) }));
        study.recipe.harm.most_slow_requests = Some(30);
        assert_eq!(ended(&study, &trials), Some(EndedBy::SlowRequests { so_far: 30, most: 30 }));
        study.recipe.harm.most_slow_requests = Some(31);
        assert_eq!(ended(&study, &trials), None);
        assert!((slow_share(&study.recipe) - SLOW_SHARE).abs() < 1e-12, "of p99");
        let LoadSpec::OwnTraffic(own) = &mut study.recipe.load else { panic!("another load") };
        own.guards = vec!["latency_p90_us <= 20000".parse().unwrap()];
        assert!((slow_share(&study.recipe) - 0.1).abs() < 1e-12, "what a guard allows is no harm");
        let unknown = of(&study, &[trial(&study, 0, Role::Candidate, false)]).unwrap();
        assert_eq!(unknown.slow_requests, None, "what is not counted is not 0");
    }
}
