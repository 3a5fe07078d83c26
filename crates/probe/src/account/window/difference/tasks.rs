//! Tasks.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::row::{Row, known_sum};
use crate::account::rows::taker::TaskAccount;

impl Row for TaskAccount {
    type Key = (u32, bool);

    fn key(&self) -> Self::Key {
        (self.tid, self.of_target)
    }

    fn since(&self, before: Option<&Self>) -> Option<Self> {
        let nothing = Self::default();
        let before = before.unwrap_or(&nothing);
        let since = Self {
            tid: self.tid,
            pid: self.pid,
            comm: self.comm.clone(),
            cgroup: self.cgroup.clone(),
            of_kernel: self.of_kernel,
            of_target: self.of_target,
            slices: self.slices.saturating_sub(before.slices),
            on_cpu_ns: self.on_cpu_ns.map(|ns| ns.saturating_sub(before.on_cpu_ns.unwrap_or(0))),
            on_cpu_by_cpu: by_cpu_since(&self.on_cpu_by_cpu, &before.on_cpu_by_cpu),
            preempted: self.preempted.saturating_sub(before.preempted),
            took: self.took.since(&before.took, None),
            took_by_cpu: by_cpu_since(&self.took_by_cpu, &before.took_by_cpu),
        };
        // A slice that began before and goes on is in no count yet, only in times by CPU.
        let ran = since.slices > 0 || !since.on_cpu_by_cpu.is_empty();
        (ran || !since.took_by_cpu.is_empty()).then_some(since)
    }

    fn then(&self, later: &Self) -> Self {
        Self {
            tid: self.tid,
            pid: later.pid,
            comm: later.comm.clone(),
            cgroup: later.cgroup.clone(),
            of_kernel: later.of_kernel,
            of_target: self.of_target,
            slices: self.slices.saturating_add(later.slices),
            on_cpu_ns: known_sum(self.on_cpu_ns, later.on_cpu_ns),
            on_cpu_by_cpu: by_cpu_then(&self.on_cpu_by_cpu, &later.on_cpu_by_cpu),
            preempted: self.preempted.saturating_add(later.preempted),
            took: self.took.plus(&later.took),
            took_by_cpu: by_cpu_then(&self.took_by_cpu, &later.took_by_cpu),
        }
    }

    fn rank(&self) -> impl Ord + use<> {
        Reverse((self.took.total_ns, self.on_cpu_ns))
    }
}

/// What times by CPU have more than before.
fn by_cpu_since(now: &BTreeMap<u32, u64>, before: &BTreeMap<u32, u64>) -> BTreeMap<u32, u64> {
    let since = now.iter().map(|(cpu, ns)| (*cpu, ns.saturating_sub(before.get(cpu).copied().unwrap_or(0))));
    since.filter(|(_, ns)| *ns > 0).collect()
}

/// Times by CPU of two intervals together.
fn by_cpu_then(one: &BTreeMap<u32, u64>, later: &BTreeMap<u32, u64>) -> BTreeMap<u32, u64> {
    let mut sum = one.clone();
    for (cpu, ns) in later {
        let of_cpu = sum.entry(*cpu).or_default();
        *of_cpu = of_cpu.saturating_add(*ns);
    }
    sum
}
