//! CPUs and what interrupted them.

use std::cmp::Reverse;

use super::row::Row;
use crate::account::collect::frequency::Frequency;
use crate::account::rows::by_source::BySource;
use crate::account::rows::cpu::{CpuAccount, TickKept};
use crate::account::rows::offline::Offline;
use crate::account::rows::source::Interruptions;

impl Row for CpuAccount {
    type Key = u32;

    fn key(&self) -> Self::Key {
        self.cpu
    }

    fn since(&self, before: Option<&Self>) -> Option<Self> {
        let nothing = Self::default();
        let before = before.unwrap_or(&nothing);
        let less = |now: u64, before: u64| now.saturating_sub(before);
        Some(Self {
            cpu: self.cpu,
            wall_ns: less(self.wall_ns, before.wall_ns),
            target_ns: less(self.target_ns, before.target_ns),
            other_ns: less(self.other_ns, before.other_ns),
            idle_ns: less(self.idle_ns, before.idle_ns),
            interrupted_ns: less(self.interrupted_ns, before.interrupted_ns),
            offline: self.offline.and_then(|offline| offline.since(before.offline)),
            steal_ns: self.steal_ns.map(|ns| less(ns, before.steal_ns.unwrap_or(0))),
            frequency: frequency_since(self.frequency, before.frequency),
            switches: less(self.switches, before.switches),
            untold_switches: less(self.untold_switches, before.untold_switches),
            unknown_ns: less(self.unknown_ns, before.unknown_ns),
            idle_while_waited_ns: less(self.idle_while_waited_ns, before.idle_while_waited_ns),
            tick_stopped: less(self.tick_stopped, before.tick_stopped),
            tick_kept: tick_kept_since(&self.tick_kept, &before.tick_kept),
            sources: sources_since(&self.sources, &before.sources),
        })
    }

    fn then(&self, later: &Self) -> Self {
        let mut sources = self.sources.clone();
        for (source, seen) in later.sources.iter() {
            let both = sources.get(source).map_or_else(|| seen.clone(), |before| before.plus(seen));
            sources.insert(source, both);
        }
        Self {
            cpu: self.cpu,
            wall_ns: self.wall_ns.saturating_add(later.wall_ns),
            target_ns: self.target_ns.saturating_add(later.target_ns),
            other_ns: self.other_ns.saturating_add(later.other_ns),
            idle_ns: self.idle_ns.saturating_add(later.idle_ns),
            interrupted_ns: self.interrupted_ns.saturating_add(later.interrupted_ns),
            offline: Offline::together(self.offline, later.offline),
            // It is known from the first tick on.
            steal_ns: self
                .steal_ns
                .map_or(later.steal_ns, |ns| Some(ns.saturating_add(later.steal_ns.unwrap_or(0)))),
            frequency: match (self.frequency, later.frequency) {
                (Some(one), Some(other)) => Some(one.and(&other)),
                (one, other) => one.or(other),
            },
            switches: self.switches.saturating_add(later.switches),
            untold_switches: self.untold_switches.saturating_add(later.untold_switches),
            unknown_ns: self.unknown_ns.saturating_add(later.unknown_ns),
            idle_while_waited_ns: self.idle_while_waited_ns.saturating_add(later.idle_while_waited_ns),
            tick_stopped: self.tick_stopped.saturating_add(later.tick_stopped),
            tick_kept: tick_kept_plus(&self.tick_kept, &later.tick_kept),
            sources,
        }
    }

    fn rank(&self) -> impl Ord + use<> {
        self.cpu
    }
}

/// Cuts to an interval what an earlier account did not have: of a CPU that had not been online by then there was no row, and it was offline.
pub(super) fn cut_to_interval(now: &mut [CpuAccount], earlier: &[CpuAccount], interval_ns: u64) {
    for row in now {
        let Some(offline) = &mut row.offline else { continue };
        if earlier.iter().any(|before| before.cpu == row.cpu) {
            continue;
        }
        let before_ns = row.wall_ns.saturating_sub(interval_ns).min(offline.total_ns);
        offline.total_ns -= before_ns;
        row.wall_ns -= before_ns;
    }
}

fn frequency_since(now: Option<Frequency>, before: Option<Frequency>) -> Option<Frequency> {
    match (now, before) {
        (Some(now), Some(before)) => now.since(&before),
        (now, _) => now,
    }
}

fn sources_since(now: &BySource, earlier: &BySource) -> BySource {
    let nothing = Interruptions::default();
    let both = now.iter().map(|(source, seen)| (source, seen, earlier.get(source).unwrap_or(&nothing)));
    // Lengths may come in a later interval than what they are of (account/detail.rs).
    let more =
        both.filter(|(_, seen, before)| seen.all.count > before.all.count || seen.lengths != before.lengths);
    more.map(|(source, seen, before)| (source, seen.since(before))).collect()
}

fn tick_kept_since(now: &[TickKept], earlier: &[TickKept]) -> Vec<TickKept> {
    let more = now.iter().map(|kept| {
        let before = earlier.iter().find(|before| before.dependency == kept.dependency);
        let times = kept.times.saturating_sub(before.map_or(0, |before| before.times));
        TickKept { dependency: kept.dependency, times }
    });
    most_frequent_first(more.filter(|kept| kept.times > 0).collect())
}

fn tick_kept_plus(earlier: &[TickKept], later: &[TickKept]) -> Vec<TickKept> {
    let mut both = earlier.to_vec();
    for kept in later {
        match both.iter_mut().find(|both| both.dependency == kept.dependency) {
            Some(both) => both.times = both.times.saturating_add(kept.times),
            None => both.push(*kept),
        }
    }
    most_frequent_first(both)
}

fn most_frequent_first(mut kept: Vec<TickKept>) -> Vec<TickKept> {
    kept.sort_by_key(|kept| Reverse(kept.times));
    kept
}

impl Interruptions {
    pub(super) fn since(&self, before: &Self) -> Self {
        let lengths = self.lengths.since(&before.lengths);
        Self {
            all: self.all.since(&before.all, Some(&lengths)).sorted_by(&lengths),
            on_target: self.on_target.since(&before.on_target),
            while_waiting: self.while_waiting.since(&before.while_waiting),
            lengths,
        }
    }

    pub(super) fn plus(&self, other: &Self) -> Self {
        let mut lengths = self.lengths.clone();
        lengths.merge(&other.lengths);
        Self {
            all: self.all.plus(&other.all).sorted_by(&lengths),
            on_target: self.on_target.plus(&other.on_target),
            while_waiting: self.while_waiting.plus(&other.while_waiting),
            lengths,
        }
    }
}
