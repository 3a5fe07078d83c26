//! What the tables say at one moment.

use std::collections::BTreeMap;
use std::sync::Arc;

use machine::{CpuSet, Missing};

use super::frequency::Frequency;
use super::paging::Paging;
use super::sources::Sources;
use crate::bpf::{
    CpuHead, FunctionKey, FunctionSeen, LineKey, LineSeen, Lost, RouteKey, TakerKey, TakerSeen, ThreadSeen,
};

/// All tables, copied, since counting began.
#[derive(Debug, Clone, Default)]
pub struct Snapshot {
    /// When counting began and when this was read, CLOCK_MONOTONIC ns.
    pub(crate) began_ns: u64,
    pub(crate) at_ns: u64,
    /// In ascending order.
    pub(crate) cpus: Vec<CpuRead>,
    /// With the moment at which each was read.
    pub(crate) threads: Vec<(u64, ThreadSeen)>,
    /// Waiting of threads that ended and are in no reading any more, of which it is not known who was on the CPU, ns.
    pub(crate) forgotten_unseen_waiting_ns: u64,
    pub(crate) takers: Vec<(TakerKey, TakerSeen)>,
    pub(crate) lines: Vec<(LineKey, LineSeen)>,
    pub(crate) functions: Vec<(FunctionKey, FunctionSeen)>,
    pub(crate) routes: Vec<(RouteKey, u64)>,
    pub(crate) lost: Option<Lost>,
    /// Swapping and NUMA faults of the machine since counting began, or why they are not known.
    pub(crate) paging: Option<Result<Paging, Missing>>,
    /// By CPU, for those that tell it; `None` where nobody wants to know.
    pub(crate) frequency: Option<BTreeMap<u32, Frequency>>,
    /// Whether tasks that are not of the target have numbers that are not those of this process's /proc.
    pub(crate) foreign_numbers: bool,
    /// Whether page faults were counted.
    pub(crate) page_faults: bool,
    /// Events that a program was left out for, by program.
    pub(crate) misses: BTreeMap<&'static str, u64>,
}

/// The kernel's record of a CPU.
#[derive(Debug, Clone)]
pub(crate) struct CpuRead {
    /// Number.
    pub(crate) cpu: u32,
    /// When it was read, CLOCK_MONOTONIC ns.
    pub(crate) at_ns: u64,
    /// As it was then; shared with other readings where nothing happened meanwhile.
    pub(crate) seen: Arc<CpuHead>,
    /// What interrupted it; shared with other readings where nothing came meanwhile.
    pub(crate) sources: Arc<Sources>,
}

impl Snapshot {
    /// The record of a CPU.
    pub(crate) fn cpu(&self, cpu: u32) -> Option<&CpuHead> {
        let found = self.cpus.binary_search_by_key(&cpu, |read| read.cpu);
        Some(&self.cpus.get(found.ok()?)?.seen)
    }

    /// Only what happened on these CPUs. Threads of a target stay: their time is theirs wherever they ran.
    pub fn on(mut self, cpus: &CpuSet) -> Self {
        self.cpus.retain(|read| cpus.contains(read.cpu));
        self.takers.retain(|(key, _)| cpus.contains(key.cpu));
        self.lines.retain(|(key, _)| cpus.contains(key.cpu));
        self.functions.retain(|(key, _)| cpus.contains(key.cpu));
        self.frequency.iter_mut().for_each(|seen| seen.retain(|cpu, _| cpus.contains(*cpu)));
        self
    }
}
