//! CPUs that were not there all the time, by their rows.

use super::cpu::CpuAccount;
use super::offline::Offline;
use crate::changed_cpu::ChangedCpu;

/// Those of these CPUs, in their order.
pub(in crate::account) fn changed(cpus: &[CpuAccount]) -> Vec<ChangedCpu> {
    let of = |row: &CpuAccount| {
        let Offline { total_ns, left, came } = row.offline?;
        Some(ChangedCpu { cpu: row.cpu, offline_ns: total_ns, wall_ns: row.wall_ns, left, came })
    };
    cpus.iter().filter_map(of).collect()
}
