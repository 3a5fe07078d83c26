//! Last-level caches, as rules compare where threads run.

use std::collections::BTreeSet;

use machine::{CpuSet, Machine};

/// The last-level caches that online CPUs use, each as the online CPUs that share it.
pub(super) fn last_level_caches(machine: &Machine, online: &CpuSet) -> BTreeSet<CpuSet> {
    online.iter().filter_map(|cpu| Some(machine.last_level_cache(cpu)?.cpus.intersection(online))).collect()
}
