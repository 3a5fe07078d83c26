//! Threads.

use std::cmp::Reverse;

use super::row::{Row, known_sum};
use crate::account::rows::thread::{FromIdle, Migrations, ThreadAccount};
use crate::account::rows::{sleep, waker};

impl Row for ThreadAccount {
    type Key = (u32, u64);

    fn key(&self) -> Self::Key {
        (self.tid, self.began_ns)
    }

    fn since(&self, before: Option<&Self>) -> Option<Self> {
        let nothing = Self::default();
        let before = before.unwrap_or(&nothing);
        if before.ended {
            return None;
        }
        let on_cpu_lengths = self.on_cpu_lengths.since(&before.on_cpu_lengths);
        let off_cpu_lengths = self.off_cpu_lengths.since(&before.off_cpu_lengths);
        let mut since = Self {
            tid: self.tid,
            pid: self.pid,
            comm: self.comm.clone(),
            cgroup: self.cgroup.clone(),
            began_ns: self.began_ns,
            ended: self.ended,
            last_cpu: self.last_cpu,
            wall_ns: self.wall_ns.saturating_sub(before.wall_ns),
            on_cpu: self.on_cpu.since(&before.on_cpu, Some(&on_cpu_lengths)).sorted_by(&on_cpu_lengths),
            interrupted_ns: self.interrupted_ns.saturating_sub(before.interrupted_ns),
            preempted: self.preempted.since(&before.preempted, Some(&off_cpu_lengths)),
            run_queue: self.run_queue.since(&before.run_queue, Some(&off_cpu_lengths)),
            throttled: self.throttled.since(&before.throttled, Some(&off_cpu_lengths)),
            asleep: self.asleep.since(&before.asleep, None),
            asleep_for: sleep::since(&self.asleep_for, &before.asleep_for),
            blocked: self.blocked.since(&before.blocked, None),
            migrations: self.migrations.since(&before.migrations),
            woken_elsewhere: self.woken_elsewhere.saturating_sub(before.woken_elsewhere),
            wakers: waker::since(&self.wakers, &before.wakers),
            page_faults: self.page_faults.map(|now| now.saturating_sub(before.page_faults.unwrap_or(0))),
            minor_faults: self.minor_faults.map(|now| now.saturating_sub(before.minor_faults.unwrap_or(0))),
            major_faults: self.major_faults.map(|now| now.saturating_sub(before.major_faults.unwrap_or(0))),
            reclaim: self.reclaim.since(&before.reclaim, None),
            from_idle: from_idle_since(&self.from_idle, &before.from_idle),
            took_from_target: self.took_from_target.since(&before.took_from_target, None),
            preempted_others: self.preempted_others.saturating_sub(before.preempted_others),
            unaccounted_ns: 0,
            on_cpu_lengths,
            off_cpu_lengths,
        };
        since.unaccounted_ns = since.wall_ns as i64 - since.accounted_ns() as i64;
        Some(since)
    }

    fn then(&self, later: &Self) -> Self {
        later.clone().plus(self)
    }

    fn rank(&self) -> impl Ord + use<> {
        Reverse((self.kept_off_ns(), self.had_ns()))
    }
}

impl ThreadAccount {
    /// The sum of this and another, for a whole server or a longer time. Numbers and names are those of `self`.
    pub(in crate::account) fn plus(self, other: &Self) -> Self {
        let (mut on_cpu_lengths, mut off_cpu_lengths) = (self.on_cpu_lengths, self.off_cpu_lengths);
        on_cpu_lengths.merge(&other.on_cpu_lengths);
        off_cpu_lengths.merge(&other.off_cpu_lengths);
        Self {
            tid: self.tid,
            pid: self.pid,
            comm: self.comm,
            cgroup: self.cgroup,
            began_ns: self.began_ns,
            ended: self.ended,
            last_cpu: self.last_cpu,
            wall_ns: self.wall_ns.saturating_add(other.wall_ns),
            on_cpu: self.on_cpu.plus(&other.on_cpu).sorted_by(&on_cpu_lengths),
            interrupted_ns: self.interrupted_ns.saturating_add(other.interrupted_ns),
            preempted: self.preempted.plus(&other.preempted),
            run_queue: self.run_queue.plus(&other.run_queue),
            throttled: self.throttled.plus(&other.throttled),
            asleep: self.asleep.plus(&other.asleep),
            asleep_for: sleep::plus(self.asleep_for, &other.asleep_for),
            blocked: self.blocked.plus(&other.blocked),
            migrations: self.migrations.plus(&other.migrations),
            woken_elsewhere: self.woken_elsewhere.saturating_add(other.woken_elsewhere),
            wakers: waker::plus(self.wakers, other.wakers.iter().cloned()),
            page_faults: known_sum(self.page_faults, other.page_faults),
            minor_faults: known_sum(self.minor_faults, other.minor_faults),
            major_faults: known_sum(self.major_faults, other.major_faults),
            reclaim: self.reclaim.plus(&other.reclaim),
            from_idle: from_idle_plus(self.from_idle, &other.from_idle),
            took_from_target: self.took_from_target.plus(&other.took_from_target),
            preempted_others: self.preempted_others.saturating_add(other.preempted_others),
            unaccounted_ns: self.unaccounted_ns.saturating_add(other.unaccounted_ns),
            on_cpu_lengths,
            off_cpu_lengths,
        }
    }
}

impl Migrations {
    fn since(&self, before: &Self) -> Self {
        Self {
            same_core: self.same_core.saturating_sub(before.same_core),
            same_cache: self.same_cache.saturating_sub(before.same_cache),
            same_node: self.same_node.saturating_sub(before.same_node),
            across_nodes: self.across_nodes.saturating_sub(before.across_nodes),
            unknown: self.unknown.saturating_sub(before.unknown),
        }
    }

    fn plus(&self, other: &Self) -> Self {
        Self {
            same_core: self.same_core.saturating_add(other.same_core),
            same_cache: self.same_cache.saturating_add(other.same_cache),
            same_node: self.same_node.saturating_add(other.same_node),
            across_nodes: self.across_nodes.saturating_add(other.across_nodes),
            unknown: self.unknown.saturating_add(other.unknown),
        }
    }
}

/// Wake-ups by C-state that there were not before.
fn from_idle_since(now: &[FromIdle], earlier: &[FromIdle]) -> Vec<FromIdle> {
    let more = now.iter().map(|state| {
        let before = earlier.iter().find(|earlier| earlier.state == state.state);
        let (count, total_ns) = before.map_or((0, 0), |before| (before.count, before.total_ns));
        FromIdle {
            state: state.state,
            name: state.name.clone(),
            exit_latency_us: state.exit_latency_us,
            count: state.count.saturating_sub(count),
            total_ns: state.total_ns.saturating_sub(total_ns),
        }
    });
    more.filter(|state| state.count > 0).collect()
}

fn from_idle_plus(mut mine: Vec<FromIdle>, theirs: &[FromIdle]) -> Vec<FromIdle> {
    for state in theirs {
        match mine.iter_mut().find(|mine| mine.state == state.state) {
            Some(mine) => {
                mine.count = mine.count.saturating_add(state.count);
                mine.total_ns = mine.total_ns.saturating_add(state.total_ns);
            }
            None => mine.push(state.clone()),
        }
    }
    mine.sort_by_key(|state| state.state);
    mine
}
