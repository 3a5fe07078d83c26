//! What the tables say at one moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use machine::{CpuSet, Missing};

use super::absence::Absence;
use super::cpu_group::{CpuOf, Group};
use super::frequency::Frequency;
use super::functions::Functions;
use super::paging::Reading;
use crate::bpf::{CpuHead, LineKey, LineSeen, Lost, RouteKey, TakerKey, TakerSeen, ThreadSeen};

/// All tables, copied, since counting began.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// When counting began and when this was read, CLOCK_MONOTONIC ns.
    pub(crate) began_ns: u64,
    pub(crate) at_ns: u64,
    pub(crate) cpus: Cpus,
    /// CPUs that were offline since counting began, by number.
    pub(crate) absences: Arc<BTreeMap<u32, Absence>>,
    /// Why that is not known.
    pub(crate) absences_missing: Option<Missing>,
    /// With the moment at which each was read.
    pub(crate) threads: Vec<(u64, ThreadSeen)>,
    /// Waiting of threads that ended and are in no reading any more, of which it is not known who was on the CPU, ns.
    pub(crate) forgotten_unseen_waiting_ns: u64,
    pub(crate) takers: Vec<(TakerKey, TakerSeen)>,
    pub(crate) lines: Vec<(LineKey, LineSeen)>,
    pub(crate) functions: Functions,
    pub(crate) routes: Vec<(RouteKey, u64)>,
    pub(crate) lost: Option<Lost>,
    /// Swapping and NUMA faults of the machine since counting began, or why they are not known.
    pub(in crate::account) paging: Option<Reading>,
    /// By CPU, for those that report it; `None` where nobody wants to know.
    pub(crate) frequency: Option<BTreeMap<u32, Frequency>>,
    /// Whether tasks that are not of the target have numbers that are not those of this process's /proc.
    pub(crate) foreign_numbers: bool,
    /// Whether page faults were counted.
    pub(crate) page_faults: bool,
    /// When lengths of what interrupted and functions of the kernel were read; `None`: by this reading.
    pub(crate) detail_ns: Option<u64>,
    /// Events that a program was left out for, by program.
    pub(crate) misses: BTreeMap<&'static str, u64>,
}

/// All CPUs of a reading.
#[derive(Debug, Clone, Default)]
pub(crate) struct Cpus {
    /// In ascending order, each with when it was found that nothing had happened on any of its CPUs, or 0.
    groups: Vec<(Arc<Group>, u64)>,
}

impl Cpus {
    /// With room for so many groups.
    pub(in crate::account) fn with_room(groups: usize) -> Self {
        Self { groups: Vec::with_capacity(groups) }
    }

    /// Takes in the CPUs that follow; `still_at_ns`: when it was found that nothing had happened on any since they were read, or 0.
    pub(in crate::account) fn push(&mut self, group: &Arc<Group>, still_at_ns: u64) {
        self.groups.push((Arc::clone(group), still_at_ns));
    }

    /// In ascending order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = CpuOf<'_>> {
        self.groups.iter().flat_map(|(group, still_at_ns)| group.iter(*still_at_ns))
    }

    #[cfg(test)]
    pub(in crate::account) fn groups(&self) -> impl Iterator<Item = &Arc<Group>> {
        self.groups.iter().map(|(group, _)| group)
    }

    fn get(&self, cpu: u32) -> Option<CpuOf<'_>> {
        let after = self.groups.partition_point(|(group, _)| group.first().is_none_or(|first| first <= cpu));
        let (group, still_at_ns) = self.groups.get(after.checked_sub(1)?)?;
        group.find(cpu, *still_at_ns)
    }

    fn retain(&mut self, is_kept: impl Fn(u32) -> bool) {
        self.groups.retain_mut(|(group, _)| {
            let (all, kept) = (group.iter(0).count(), group.iter(0).filter(|of| is_kept(of.cpu())).count());
            // The reader has it too and reads into it again: what is left out of is a copy, into which nothing is read any more.
            if (1..all).contains(&kept) {
                Arc::make_mut(group).retain(&is_kept);
            }
            kept > 0
        });
    }
}

impl Snapshot {
    /// Whether everything is of this reading. Of machines with very many CPUs some readings have counts and times only: lengths of what
    /// interrupted and functions of the kernel are of an earlier one then.
    pub fn is_whole(&self) -> bool {
        self.detail_ns.is_none()
    }

    /// Events since counting began that are in no figure, by what they were: entries of tables that were full, and runs of a program that was
    /// left out, by its name. Where the tables do not say, they are not named.
    pub fn lost_events(&self) -> BTreeMap<&'static str, u64> {
        let mut lost = self.misses.clone();
        if let Some(Lost { threads, takers, lines, functions, routes }) = self.lost {
            lost.extend([
                ("threads", threads),
                ("slices", takers),
                ("device_lines", lines),
                ("functions", functions),
                ("migrations", routes),
            ]);
        }
        lost
    }

    /// The record of a CPU.
    pub(crate) fn cpu(&self, cpu: u32) -> Option<&CpuHead> {
        self.cpus.get(cpu).map(|of| of.head())
    }

    /// When a CPU was offline; `None` where it was not.
    pub(in crate::account) fn absence(&self, cpu: u32) -> Option<&Absence> {
        self.absences.get(&cpu)
    }

    /// Only what happened on these CPUs. Threads of a target stay: their time is theirs wherever they ran.
    pub fn on(mut self, cpus: &CpuSet) -> Self {
        self.cpus.retain(|cpu| cpus.contains(cpu));
        self.takers.retain(|(key, _)| cpus.contains(key.cpu));
        self.lines.retain(|(key, _)| cpus.contains(key.cpu));
        self.functions = self.functions.on(cpus);
        self.frequency.iter_mut().for_each(|seen| seen.retain(|cpu, _| cpus.contains(*cpu)));
        self
    }
}
