//! CPUs that were not there all the time.

use std::collections::BTreeMap;

use machine::CpuSet;
use serde::{Deserialize, Serialize};

/// A CPU that went offline or came online in the window. Source: /sys/devices/system/cpu/online, looked at some ten times a second, and the
/// kernel's events; without events the samples of counters in which it was not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ChangedCpu {
    /// Number.
    pub cpu: u32,
    /// How long it was offline, ns.
    pub offline_ns: u64,
    /// Its time in the window, ns: online and offline.
    pub wall_ns: u64,
    /// How often it went offline.
    pub left: u64,
    /// How often it came online.
    pub came: u64,
}

impl ChangedCpu {
    /// Out of single absences in one window: those of a CPU together, by number.
    pub(crate) fn summed(absences: impl Iterator<Item = Self>) -> Vec<Self> {
        let mut sums: BTreeMap<u32, Self> = BTreeMap::new();
        for absence in absences {
            let add = |sum: &mut Self| {
                sum.offline_ns = sum.offline_ns.saturating_add(absence.offline_ns);
                sum.left += absence.left;
                sum.came += absence.came;
            };
            sums.entry(absence.cpu).and_modify(add).or_insert(absence);
        }
        sums.into_values().collect()
    }

    /// The CPUs that are online at the end of a window at whose beginning `before` were.
    pub(crate) fn online_after(before: &CpuSet, changed: &[Self]) -> CpuSet {
        let those = |is: fn(&Self) -> bool| -> CpuSet {
            changed.iter().filter(|cpu| is(cpu)).map(|changed| changed.cpu).collect()
        };
        // One that came and left as often is where it was.
        before.union(&those(|cpu| cpu.came > cpu.left)).difference(&those(|cpu| cpu.left > cpu.came))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_and_came_says_which_cpus_are_online_at_the_end() {
        let changed = |cpu, left, came| ChangedCpu { cpu, offline_ns: 1, wall_ns: 2, left, came };
        let before: CpuSet = "0-3".parse().unwrap();
        let all = [changed(1, 2, 1), changed(2, 1, 1), changed(4, 0, 1), changed(5, 1, 1)];
        assert_eq!(ChangedCpu::online_after(&before, &all).to_string(), "0,2-4");
        assert_eq!(ChangedCpu::online_after(&before, &[]), before);
    }
}
