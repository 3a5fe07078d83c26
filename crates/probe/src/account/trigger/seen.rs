//! What a figure was in an interval, as far as that is known.

use std::fmt;

use super::figure::{Figure, Wait};
use super::value::{Unit, Value};
use crate::account::{Account, CpuAccount, Extreme, Taker, TakerKind, ThreadAccount};

/// A whole in the unit of shares.
const WHOLE: u64 = 1_000_000;

const SECOND_NS: u64 = 1_000_000_000;

/// A figure of an interval: it was not less than the one, nor more than the other, in the unit of [`Value`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Seen {
    /// What both are measured in.
    pub unit: Unit,
    /// The least that it was.
    pub at_least: u64,
    /// The most; `u64::MAX` where that is not known.
    pub at_most: u64,
}

/// For people: `48.2%`, `8.38ms to 10.4ms`, `at least 8.38ms`.
impl fmt::Display for Seen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = |amount| Value { unit: self.unit, amount }.rough();
        let (least, most) = (value(self.at_least), value(self.at_most));
        match self.at_most {
            _ if least == most => write!(f, "{least}"),
            u64::MAX => write!(f, "at least {least}"),
            _ => write!(f, "{least} to {most}"),
        }
    }
}

impl Figure {
    /// What it was in an interval; `None` where that is not known.
    pub fn seen(&self, interval: &Account) -> Option<Seen> {
        let exactly = |amount: u64| (amount, amount);
        let (at_least, at_most) = match self {
            Self::Longest(wait) => longest(interval, &[*wait])?,
            Self::LongestWait => longest(interval, &Wait::ALL)?,
            Self::P99Wait => p99_wait(interval)?,
            Self::Mean(wait) => exactly(wait.of(interval.together.as_ref()?).mean_ns? as u64),
            Self::ShareOf(wait) => exactly(share_of_threads(interval, |all| wait.of(all).total_ns)?),
            Self::Blocked => exactly(share_of_threads(interval, |all| all.blocked.total_ns)?),
            Self::Taker(name) => took(interval, name),
            Self::Interrupts => exactly(interrupts(interval)?),
            Self::InterruptsPerSecond => exactly(interrupts_per_second(interval)?),
            Self::Steal => exactly(steal(interval)?),
            Self::UnreportedSwitches => exactly(sum(interval.cpus.iter().map(|cpu| cpu.untold_switches))),
        };
        Some(Seen { unit: self.unit(), at_least, at_most })
    }
}

/// The longest wait of these kinds of any thread, ns.
fn longest(interval: &Account, kinds: &[Wait]) -> Option<(u64, u64)> {
    let of_threads = interval.threads.iter().map(|thread| longest_of(thread, kinds));
    of_threads.reduce(|one, other| (one.0.max(other.0), one.1.max(other.1)))
}

fn longest_of(thread: &ThreadAccount, kinds: &[Wait]) -> (u64, u64) {
    let is_other = |wait: &Wait| !kinds.contains(wait) && wait.of(thread).total_ns > 0;
    // Lengths are sorted for waits of all kinds together.
    let sorted_ns = match Wait::ALL.iter().any(is_other) {
        true => 0,
        false => thread.off_cpu_lengths.steps().next_back().map_or(0, |(shortest_ns, ..)| shortest_ns),
    };
    let of_kinds = kinds.iter().map(|wait| wait.of(thread)).filter(|waits| waits.total_ns > 0).map(|waits| {
        // One more than began in the interval: it may have had the longest part of them from before.
        let mean_ns = waits.total_ns / waits.count.saturating_add(1);
        match waits.longest() {
            Some(Extreme::Exactly(ns)) => (ns, ns),
            Some(Extreme::Bound(ns)) => (mean_ns.min(ns), ns),
            None => (mean_ns, u64::MAX),
        }
    });
    let (at_least, at_most) = of_kinds.fold((0, 0), |one, other| (one.0.max(other.0), one.1.max(other.1)));
    (at_least.max(sorted_ns.min(at_most)), at_most)
}

/// The edges of the step in which the 99th percentile of waits for a CPU lies, ns.
fn p99_wait(interval: &Account) -> Option<(u64, u64)> {
    let lengths = &interval.together.as_ref()?.off_cpu_lengths;
    let p99_ns = lengths.quantile_ns(0.99)?;
    let step = lengths.steps().find(|(_, longest_ns, _)| *longest_ns == p99_ns);
    step.map(|(shortest_ns, longest_ns, _)| (shortest_ns, longest_ns))
}

/// Share of a part in the time in which threads wanted to go on: on a CPU, waiting for one, blocked.
fn share_of_threads(interval: &Account, part_ns: impl Fn(&ThreadAccount) -> u64) -> Option<u64> {
    let all = interval.together.as_ref()?;
    share(part_ns(all), sum([all.had_ns(), all.kept_off_ns(), all.blocked.total_ns]))
}

/// What all takers of a name took. Waiting of which nobody knows who took it may be theirs as well.
fn took(interval: &Account, name: &str) -> (u64, u64) {
    let is_meant = |taker: &Taker| {
        let rest = taker.name.strip_prefix(name);
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(" ("))
    };
    let shares = |is_wanted: &dyn Fn(&Taker) -> bool| {
        let all =
            interval.takers.iter().filter(|taker| is_wanted(taker)).map(|taker| taker.share).sum::<f64>();
        (all * WHOLE as f64).round() as u64
    };
    let known = shares(&is_meant);
    (known, known.saturating_add(shares(&|taker: &Taker| taker.kind == TakerKind::Unknown)))
}

fn interrupts(interval: &Account) -> Option<u64> {
    share(sum(interval.cpus.iter().map(|cpu| cpu.interrupted_ns)), online_ns(interval.cpus.iter()))
}

fn interrupts_per_second(interval: &Account) -> Option<u64> {
    let sources = interval.cpus.iter().flat_map(|cpu| cpu.sources.iter());
    let came = sum(sources.filter(|(source, _)| !source.is_softirq()).map(|(_, seen)| seen.all.count));
    part(came, interval.to_ns.saturating_sub(interval.from_ns), SECOND_NS)
}

/// Of the CPUs of which it is known.
fn steal(interval: &Account) -> Option<u64> {
    let known = || interval.cpus.iter().filter(|cpu| cpu.steal_ns.is_some());
    share(sum(known().filter_map(|cpu| cpu.steal_ns)), online_ns(known()))
}

fn online_ns<'a>(cpus: impl Iterator<Item = &'a CpuAccount>) -> u64 {
    sum(cpus.map(CpuAccount::online_ns))
}

/// A ring may come from anybody, with any numbers in it.
fn sum(of: impl IntoIterator<Item = u64>) -> u64 {
    of.into_iter().fold(0, u64::saturating_add)
}

fn share(some: u64, of: u64) -> Option<u64> {
    part(some, of, WHOLE)
}

/// So many parts of a whole.
fn part(some: u64, of: u64, parts: u64) -> Option<u64> {
    let part = (u128::from(some) * u128::from(parts)).checked_div(u128::from(of))?;
    Some(u64::try_from(part).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests;
