//! Kinds of cores on hybrid machines: performance and efficiency cores of x86, big and LITTLE ones of arm.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::cpus::Cpu;
use crate::{CpuSet, Root};

/// One kind of core; a machine whose cores are all alike has none.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct CoreKind {
    /// As the kernel calls it: `cpu_core` and `cpu_atom` (the PMUs of x86), or `capacity 446` (arm).
    pub name: String,
    /// The online CPUs of that kind.
    pub cpus: CpuSet,
}

/// The PMUs by which the kernel tells the kinds of x86 (arch/x86/events/intel/core.c).
const PMUS: [&str; 3] = ["cpu_core", "cpu_atom", "cpu_lowpower"];

/// Reads the kinds: by PMU where there are several, else by capacity (drivers/base/arch_topology.c).
pub(crate) fn read(root: &Root, online: &CpuSet, cpus: &[Cpu]) -> Vec<CoreKind> {
    let of_pmu = |name: &&str| {
        let cpus = root.cpu_list(format!("/sys/devices/{name}/cpus")).ok()?.intersection(online);
        (!cpus.is_empty()).then(|| CoreKind { name: name.to_string(), cpus })
    };
    let by_pmu: Vec<CoreKind> = PMUS.iter().filter_map(of_pmu).collect();
    if by_pmu.len() > 1 {
        return by_pmu;
    }
    let mut by_capacity: BTreeMap<u32, CpuSet> = BTreeMap::new();
    for cpu in cpus.iter().filter(|cpu| cpu.online) {
        if let Some(capacity) = cpu.capacity {
            by_capacity.entry(capacity).or_default().insert(cpu.id);
        }
    }
    if by_capacity.len() < 2 {
        return Vec::new();
    }
    let kinds = by_capacity.into_iter().rev();
    kinds.map(|(capacity, cpus)| CoreKind { name: format!("capacity {capacity}"), cpus }).collect()
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
        let kinds = read(&Root::from_tree(hybrid), &online, &[]);
        let told: Vec<_> = kinds.iter().map(|k| (k.name.as_str(), k.cpus.to_list())).collect();
        assert_eq!(told, [("cpu_core", "0-1".to_string()), ("cpu_atom", "2-3".to_string())]);
        let plain = Root::from_tree(Tree::new().file("/sys/devices/cpu_core/cpus", "0-3\n"));
        let cpus = [cpu(0, Some(446)), cpu(1, Some(1024)), cpu(2, None)];
        let kinds = read(&plain, &online, &cpus);
        assert_eq!(kinds[0], CoreKind { name: "capacity 1024".into(), cpus: CpuSet::single(1) });
        assert_eq!(kinds.len(), 2);
        assert_eq!(read(&plain, &online, &cpus[1..]), []);
    }
}
