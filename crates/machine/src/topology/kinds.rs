//! Kinds of cores on hybrid machines: performance and efficiency cores of x86, big and LITTLE ones of arm.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::cpus::Cpu;
use crate::power::FrequencyPolicy;
use crate::{CpuSet, Root};

/// One kind of core; a machine whose cores are all alike has none.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CoreKind {
    /// As the kernel calls it: `cpu_core` and `cpu_atom` (the PMUs of x86), `capacity 446` (arm), or what distinguishes them
    /// apart: `base 2.50 GHz`.
    pub name: String,
    /// The online CPUs of that kind.
    pub cpus: CpuSet,
}

/// The PMUs by which the kernel reports the kinds of x86 (arch/x86/events/intel/core.c).
const PMUS: [&str; 3] = ["cpu_core", "cpu_atom", "cpu_lowpower"];

/// Reads the kinds: by PMU where there are several, else by capacity (drivers/base/arch_topology.c), else by base
/// frequency, which also differs where some cores are favoured for good (Intel SST-BF).
pub(crate) fn read(
    root: &Root,
    online: &CpuSet,
    cpus: &[Cpu],
    frequency: &[FrequencyPolicy],
) -> Vec<CoreKind> {
    let of_pmu = |name: &&str| {
        let cpus = root.cpu_list(format!("/sys/devices/{name}/cpus")).ok()?.intersection(online);
        (!cpus.is_empty()).then(|| CoreKind { name: name.to_string(), cpus })
    };
    let by_pmu: Vec<CoreKind> = PMUS.iter().filter_map(of_pmu).collect();
    if by_pmu.len() > 1 {
        return by_pmu;
    }
    let capacities = cpus.iter().filter(|cpu| cpu.online);
    let capacities = capacities.filter_map(|cpu| Some((u64::from(cpu.capacity?), CpuSet::single(cpu.id))));
    let by_capacity = apart(capacities, |capacity| format!("capacity {capacity}"));
    if !by_capacity.is_empty() {
        return by_capacity;
    }
    let bases = frequency.iter().filter_map(|policy| Some((policy.base_khz?, policy.cpus.clone())));
    apart(bases, |khz| format!("base {:.2} GHz", khz as f64 / 1e6))
}

/// The sets of each value, the largest value first; none where all are alike.
fn apart(values: impl Iterator<Item = (u64, CpuSet)>, name: impl Fn(u64) -> String) -> Vec<CoreKind> {
    let mut sets: BTreeMap<u64, CpuSet> = BTreeMap::new();
    for (value, cpus) in values {
        let set = sets.entry(value).or_default();
        set.extend(cpus.iter());
    }
    if sets.len() < 2 {
        return Vec::new();
    }
    sets.into_iter().rev().map(|(value, cpus)| CoreKind { name: name(value), cpus }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    fn cpu(id: u32, capacity: Option<u32>) -> Cpu {
        Cpu { id, online: true, capacity, ..Cpu::default() }
    }

    #[test]
    fn by_pmu_by_capacity_and_all_alike() {
        let online: CpuSet = (0..4).collect();
        let hybrid = Tree::new()
            .file("/sys/devices/cpu_core/cpus", "0-1,8\n")
            .file("/sys/devices/cpu_atom/cpus", "2-3\n");
        let kinds = read(&Root::from_tree(hybrid), &online, &[], &[]);
        let told: Vec<_> = kinds.iter().map(|k| (k.name.as_str(), k.cpus.to_list())).collect();
        assert_eq!(told, [("cpu_core", "0-1".to_string()), ("cpu_atom", "2-3".to_string())]);
        let plain = Root::from_tree(Tree::new().file("/sys/devices/cpu_core/cpus", "0-3\n"));
        let cpus = [cpu(0, Some(446)), cpu(1, Some(1024)), cpu(2, None)];
        let kinds = read(&plain, &online, &cpus, &[]);
        assert_eq!(kinds[0], CoreKind { name: "capacity 1024".into(), cpus: CpuSet::single(1) });
        assert_eq!(kinds.len(), 2);
        assert_eq!(read(&plain, &online, &cpus[1..], &[]), []);
        let policy = |cpu, base| FrequencyPolicy {
            cpus: CpuSet::single(cpu),
            base_khz: base,
            ..FrequencyPolicy::default()
        };
        let favoured = [policy(0, Some(2_500_000)), policy(1, Some(3_500_000)), policy(2, None)];
        let kinds = read(&plain, &online, &[], &favoured);
        assert_eq!(kinds[0], CoreKind { name: "base 3.50 GHz".into(), cpus: CpuSet::single(1) });
    }
}
