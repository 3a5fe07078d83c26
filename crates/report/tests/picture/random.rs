//! Machines whose tables contradict themselves: anything may overlap anything, and still every CPU is drawn once.

use std::collections::BTreeMap;

use machine::topology::caches::{Cache, CacheType};
use machine::topology::cpus::Cpu;
use machine::topology::nodes::Node;
use machine::{CpuSet, Machine};
use proptest::prelude::*;

use crate::checks;

fn some_of(count: u32) -> impl Strategy<Value = CpuSet> {
    proptest::collection::btree_set(0..count, 0..count as usize).prop_map(|cpus| cpus.into_iter().collect())
}

prop_compose! {
    fn cpu(count: u32)(
        online in proptest::bool::weighted(0.9),
        numbers in proptest::array::uniform4(proptest::option::of(0u32..4)),
        siblings in proptest::option::of(some_of(count)),
        khz in proptest::option::of(1_000_000u64..1_000_003),
    ) -> Cpu {
        let [package, die, cluster, core] = numbers;
        Cpu { online, package, die, cluster, core, siblings, max_frequency_khz: khz, ..Cpu::default() }
    }
}

fn cache(count: u32) -> impl Strategy<Value = Cache> {
    let kind = prop_oneof![Just(CacheType::Data), Just(CacheType::Instruction), Just(CacheType::Unified)];
    (1u32..5, kind, proptest::option::of(1u64..1 << 30), some_of(count))
        .prop_map(|(level, kind, bytes, cpus)| Cache { level, kind, bytes, cpus })
}

prop_compose! {
    fn machine()(count in 1u32..60)(
        cpus in proptest::collection::vec(cpu(count), count as usize),
        packages in proptest::collection::vec(some_of(count), 0..4),
        nodes in proptest::collection::vec((some_of(count), proptest::option::of(any::<u64>())), 0..5),
        caches in proptest::collection::vec(cache(count), 0..12),
        step in 1u32..400,
    ) -> Machine {
        // Numbers have holes, and sets may name CPUs that are offline.
        let spread = |set: &CpuSet| -> CpuSet { set.iter().map(|id| id * step).collect() };
        let cpus = cpus.into_iter().enumerate().map(|(id, cpu)| Cpu {
            id: id as u32 * step,
            siblings: cpu.siblings.as_ref().map(spread),
            ..cpu
        });
        let node = |(id, (cpus, bytes)): (usize, (CpuSet, Option<u64>))| Node {
            id: id as u32 * step, cpus: spread(&cpus), memory_bytes: bytes, distances: BTreeMap::new(), ..Node::default()
        };
        Machine {
            cpus: cpus.collect(),
            packages: packages.iter().map(spread).filter(|set| !set.is_empty()).collect(),
            nodes: nodes.into_iter().enumerate().map(node).collect(),
            caches: caches.into_iter().map(|c| Cache { cpus: spread(&c.cpus), ..c }).collect(),
            ..Machine::default()
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]
    #[test]
    fn whatever_the_tables_say_every_cpu_is_drawn_once_and_nothing_overlaps(machine in machine()) {
        checks::checked("random", &machine);
    }
}
