//! Which functions of the server take the CPU time that differs between two arms, by samples of its stacks.

use std::collections::BTreeSet;

use probe::stacks::{FUNCTIONS_KEPT, Profile, Sampled};
use serde::Serialize;
use study::Observed;

use super::trial_pair::{TrialPair, change};
use super::waterfall::{Change, MATTERS};

/// Functions that are named.
const MOST: usize = 5;

/// Standard deviations of a difference of counts beyond which it is not chance. A case has some hundred functions and dozens of contrasts: if
/// nothing differs, about two of 30,000 functions exceed it (normal distribution).
const BEYOND_CHANCE: f64 = 4.0;

/// What a sample is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Where {
    /// A function in user space.
    User,
    /// A function of the kernel.
    Kernel,
    /// A system call, with all that the kernel does in it.
    SystemCall,
}

impl Where {
    const ALL: [Self; 3] = [Self::User, Self::Kernel, Self::SystemCall];

    fn of(self, profile: &Profile) -> &[Sampled] {
        match self {
            Self::User => &profile.user,
            Self::Kernel => &profile.kernel,
            Self::SystemCall => &profile.calls,
        }
    }
}

/// A function whose CPU time a request differs.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FunctionChange {
    /// Where it is.
    pub place: Where,
    /// Its name.
    pub name: String,
    /// CPU time a request, us: that of the server's threads, shared out by samples.
    pub cpu_us: Change,
}

/// Functions whose CPU time a request differs between the arms by more than chance, those that changed most first. A function that is not
/// among the twelve most frequent of a trial counts as none there, if the arms differ even with as many samples as the last of the twelve.
pub(super) fn functions(pairs: &[TrialPair<'_, '_>]) -> Vec<FunctionChange> {
    if pairs.iter().any(|(arm, against)| [arm, against].iter().any(|trial| sampled(trial.observed).is_none()))
    {
        return Vec::new();
    }
    let Some(total) = change(pairs, |observed| cpu_us(observed, |profile| profile.own())) else {
        return Vec::new();
    };
    let mut changes: Vec<FunctionChange> = named(pairs)
        .into_iter()
        .filter(|(place, name)| is_beyond_chance(pairs, *place, name))
        .filter_map(|(place, name)| {
            let cpu_us =
                change(pairs, |observed| cpu_us(observed, |profile| samples(profile, place, name, false)))?;
            Some(FunctionChange { place, name: name.into(), cpu_us })
        })
        .filter(|changed| {
            changed.cpu_us.is_there() && changed.cpu_us.difference().abs() >= MATTERS * total.larger()
        })
        .collect();
    changes.sort_by(|a, b| b.cpu_us.difference().abs().total_cmp(&a.cpu_us.difference().abs()));
    changes.truncate(MOST);
    changes
}

/// The profile of a trial with its requests; `None` where either is not known.
fn sampled(observed: &Observed) -> Option<(&Profile, f64)> {
    let requests = observed.requests.filter(|requests| *requests >= 1.0)?;
    Some((observed.situation.profile.as_ref()?, requests))
}

fn cpu_us(observed: &Observed, of: impl Fn(&Profile) -> u64) -> Option<f64> {
    let (profile, requests) = sampled(observed)?;
    let threads = &observed.situation.account.as_ref()?.threads;
    let had_ns: f64 = threads.iter().map(|thread| thread.had_ns() as f64).sum();
    if profile.samples == 0 {
        return Some(0.0);
    }
    Some(had_ns * (of(profile) as f64 / profile.samples as f64) / requests / 1e3)
}

/// Samples of a function in a trial. One that is not in a full list has as many as the last of the list at most: that many if `most`.
fn samples(profile: &Profile, place: Where, name: &str, most: bool) -> u64 {
    let list = place.of(profile);
    let listed = list.iter().find(|sampled| sampled.name == name).map(|sampled| sampled.samples);
    let last = list.last().filter(|_| most && list.len() >= FUNCTIONS_KEPT).map(|sampled| sampled.samples);
    listed.or(last).unwrap_or(0)
}

/// All that has a name in any of these trials.
fn named<'a>(pairs: &[TrialPair<'_, 'a>]) -> BTreeSet<(Where, &'a str)> {
    let trials = pairs.iter().flat_map(|(arm, against)| [arm.observed, against.observed]);
    let profiles = trials.filter_map(|observed| observed.situation.profile.as_ref());
    let of = |profile: &'a Profile| {
        Where::ALL.into_iter().flat_map(move |place| {
            place.of(profile).iter().map(move |sampled| (place, sampled.name.as_str()))
        })
    };
    profiles.flat_map(of).collect()
}

/// Whether the counts of all blocks together differ by more than counts of rare events do by chance, whatever was cut off from the lists.
fn is_beyond_chance(pairs: &[TrialPair<'_, '_>], place: Where, name: &str) -> bool {
    let rate = |trials: &mut dyn Iterator<Item = &Observed>, most: bool| {
        let (mut count, mut requests) = (0.0, 0.0);
        for (profile, of_trial) in trials.filter_map(sampled) {
            count += samples(profile, place, name, most) as f64;
            requests += of_trial;
        }
        // The variance of a count is the count; that of a count of 0 is not 0.
        (count / requests, count.max(1.0) / (requests * requests))
    };
    // In standard deviations, if one of the two arms has the most that it can have.
    let deviations = |most_in_arm: bool| {
        let (arm, arm_variance) = rate(&mut pairs.iter().map(|(arm, _)| arm.observed), most_in_arm);
        let (against, against_variance) =
            rate(&mut pairs.iter().map(|(_, against)| against.observed), !most_in_arm);
        (arm - against) / (arm_variance + against_variance).sqrt()
    };
    let both = [deviations(true), deviations(false)];
    both.iter().all(|by| *by > BEYOND_CHANCE) || both.iter().all(|by| *by < -BEYOND_CHANCE)
}
