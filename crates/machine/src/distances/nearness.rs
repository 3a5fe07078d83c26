//! How near the CPUs of a machine are to each other, by what they share.

use super::Relation;
use crate::Machine;

impl Relation {
    /// Of two CPUs of a machine.
    pub fn between(machine: &Machine, a: u32, b: u32) -> Self {
        let (Some(one), Some(other)) = (machine.cpu(a), machine.cpu(b)) else { return Relation::Machine };
        let same = |x: Option<u32>, y: Option<u32>| x.is_some() && x == y;
        let cache = machine.last_level_cache(a);
        if one.siblings.as_ref().is_some_and(|siblings| siblings.contains(b)) {
            Relation::Core
        } else if cache.is_some_and(|cache| cache.cpus.contains(b)) {
            Relation::Cache
        } else if same(one.node, other.node) && (one.package == other.package) {
            Relation::Node
        } else if same(one.package, other.package) {
            Relation::Package
        } else {
            Relation::Machine
        }
    }
}

/// CPUs with neighbours beside each other: by package, node, last-level cache, core.
pub fn in_order(machine: &Machine, cpus: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let last = |number: Option<u32>| number.unwrap_or(u32::MAX);
    let place = |cpu: &u32| {
        let known = machine.cpu(*cpu);
        let cache = machine.last_level_cache(*cpu).and_then(|cache| cache.cpus.first());
        let core = known.and_then(|known| known.siblings.as_ref()).and_then(|siblings| siblings.first());
        let (package, node) = (known.and_then(|known| known.package), known.and_then(|known| known.node));
        (last(package), last(node), last(cache), core.unwrap_or(*cpu), *cpu)
    };
    let mut cpus: Vec<u32> = cpus.into_iter().collect();
    cpus.sort_by_key(place);
    cpus
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::CpuSet;
    use crate::topology::caches::{Cache, CacheType};
    use crate::topology::cpus::Cpu;

    /// Two packages of two nodes of two caches of two cores; threads are `n` and `n + 16`.
    fn machine() -> Machine {
        let cpu = |id: u32| Cpu {
            id,
            online: true,
            package: Some(id % 16 / 8),
            node: Some(id % 16 / 4),
            siblings: Some([id % 16, id % 16 + 16].into_iter().collect()),
            ..Cpu::default()
        };
        let cache = |first: u32| Cache {
            level: 3,
            kind: CacheType::Unified,
            bytes: Some(1 << 20),
            cpus: [first, first + 1, first + 16, first + 17].into_iter().collect::<CpuSet>(),
        };
        Machine {
            cpus: (0..32).map(cpu).collect(),
            caches: (0..16).step_by(2).map(cache).collect(),
            ..Machine::default()
        }
    }

    #[test]
    fn the_smallest_thing_in_common_counts() {
        let machine = machine();
        let of = |b| Relation::between(&machine, 0, b);
        assert_eq!(
            [16, 1, 17, 2, 4, 8].map(of),
            [
                Relation::Core,
                Relation::Cache,
                Relation::Cache,
                Relation::Node,
                Relation::Package,
                Relation::Machine
            ]
        );
        assert_eq!(of(99), Relation::Machine);
        let mut interleaved = machine;
        interleaved.cpus.iter_mut().for_each(|cpu| cpu.node = Some(0));
        assert_eq!(Relation::between(&interleaved, 0, 8), Relation::Machine);
    }

    #[test]
    fn neighbours_stand_beside_each_other() {
        assert_eq!(in_order(&machine(), [17, 8, 2, 1, 0, 16]), [0, 16, 1, 17, 2, 8]);
        assert_eq!(in_order(&Machine::default(), [3, 1]), [1, 3]);
    }
}
