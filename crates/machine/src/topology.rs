//! CPUs, caches and NUMA nodes, from /sys/devices/system (Documentation/ABI/testing/sysfs-devices-system-cpu,
//! Documentation/admin-guide/cputopology.rst, Documentation/ABI/stable/sysfs-devices-node).

pub mod access;
pub mod caches;
pub mod cpus;
pub mod kinds;
pub mod memory;
pub mod nodes;
mod packages;
mod partition;

use std::collections::BTreeMap;

use crate::wording::plural;
use crate::{CpuSet, FactId, Missing, Notes, ReadError};

/// Folder of the CPUs.
pub(crate) const CPUS: &str = "/sys/devices/system/cpu";
/// Folder of the NUMA nodes.
pub(crate) const NODES: &str = "/sys/devices/system/node";

/// The numbers of the folders `PREFIXn` among `names`.
pub(crate) fn numbered(names: &[String], prefix: &str) -> CpuSet {
    names.iter().filter_map(|name| name.strip_prefix(prefix)?.parse::<u32>().ok()).collect()
}

/// Facts that are missing on many CPUs for the same reason, so that 1024 CPUs make one line and not 1024.
#[derive(Default)]
pub(crate) struct Gaps(BTreeMap<&'static str, (CpuSet, String)>);

impl Gaps {
    /// Keeps a good answer; a failed one counts for `cpu` under `fact`, with the reason of the first CPU.
    pub(crate) fn keep<T>(
        &mut self,
        fact: &'static str,
        cpu: u32,
        answer: Result<T, ReadError>,
    ) -> Option<T> {
        answer.map_err(|e| self.note(fact, cpu, e.to_string())).ok()
    }

    /// Notes that `fact` is missing on `cpu`.
    pub(crate) fn note(&mut self, fact: &'static str, cpu: u32, why: String) {
        self.0.entry(fact).or_insert_with(|| (CpuSet::new(), why)).0.insert(cpu);
    }

    /// One missing fact for each kind, with its id where code asks for it.
    pub(crate) fn report(self, ids: &[(&str, FactId)], notes: &mut Notes) {
        for (fact, (cpus, why)) in self.0 {
            let id = ids.iter().find(|(name, _)| *name == fact).map(|(_, id)| id.clone());
            let fact = format!("{fact} of {} {cpus}", plural("CPU", cpus.len()));
            notes.add(Missing { id, ..Missing::new(fact, why) });
        }
    }
}
