//! Where each CPU lies, in the numbers by which programs in the kernel see how far a thread moved.

use std::collections::BTreeMap;

use machine::{CpuSet, Machine};

use crate::bpf::Place;

/// The place of each online CPU: CPUs with an equal number share a core, a last-level cache, a node.
pub(in crate::account) fn places(machine: &Machine) -> BTreeMap<u32, Place> {
    let first_of = |set: &CpuSet, cpu: u32| set.first().unwrap_or(cpu);
    let last_level = machine.caches.iter().map(|cache| cache.level).max().unwrap_or(0);
    let shared = machine.caches.iter().filter(|cache| cache.level == last_level && last_level > 1);
    let mut cache_of = BTreeMap::new();
    for cache in shared {
        cache_of.extend(cache.cpus.iter().map(|cpu| (cpu, first_of(&cache.cpus, cpu))));
    }
    let online = machine.cpus.iter().filter(|cpu| cpu.online);
    online
        .map(|cpu| {
            let core = cpu.siblings.as_ref().map_or(cpu.id, |siblings| first_of(siblings, cpu.id));
            // Without a cache that cores share, moving to another core loses what is cached.
            let cache = cache_of.get(&cpu.id).copied().unwrap_or(core);
            (cpu.id, Place { core, cache, node: cpu.node.unwrap_or(0), known: 1 })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use machine::topology::caches::{Cache, CacheType};
    use machine::topology::cpus::Cpu;

    use super::*;

    fn set(list: &str) -> CpuSet {
        CpuSet::from_list(list).unwrap()
    }

    #[test]
    fn cores_caches_and_nodes_are_told_apart() {
        let cpu = |id: u32, siblings: &str, node| Cpu {
            id,
            online: true,
            siblings: Some(set(siblings)),
            node: Some(node),
            ..Cpu::default()
        };
        let cache = |cpus: &str| Cache { level: 3, kind: CacheType::Unified, bytes: None, cpus: set(cpus) };
        let machine = Machine {
            cpus: vec![
                cpu(0, "0,4", 0),
                cpu(1, "1,5", 0),
                cpu(2, "2", 1),
                cpu(4, "0,4", 0),
                cpu(5, "1,5", 0),
            ],
            caches: vec![cache("0-1,4-5"), cache("2")],
            ..Machine::default()
        };
        let places = places(&machine);
        let reported = |cpu: u32| (places[&cpu].core, places[&cpu].cache, places[&cpu].node);
        assert_eq!(
            [reported(0), reported(4), reported(1), reported(2)],
            [(0, 0, 0), (0, 0, 0), (1, 0, 0), (2, 2, 1)]
        );
    }

    #[test]
    fn an_offline_cpu_has_no_place() {
        let cpu = Cpu { id: 3, online: false, ..Cpu::default() };
        assert!(places(&Machine { cpus: vec![cpu], ..Machine::default() }).is_empty());
    }
}
