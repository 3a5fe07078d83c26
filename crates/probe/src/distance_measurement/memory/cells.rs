//! Which nodes are measured from, and to.

use machine::{CpuSet, Machine, Missing};

/// Most CPUs of a node that read and write at the same time.
const MOST_CPUS: usize = 256;

/// A node with CPUs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Origin {
    pub(super) node: u32,
    /// The CPUs that are used.
    pub(super) cpus: CpuSet,
    /// The largest last-level cache of one of them, bytes.
    pub(super) cache_bytes: Option<u64>,
    /// The last-level caches of all of them, bytes.
    pub(super) all_caches_bytes: Option<u64>,
}

/// The nodes of a measurement.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Nodes {
    pub(super) from: Vec<Origin>,
    /// Nodes with memory that may be used.
    pub(super) memory: Vec<u32>,
    /// Whether memory can be bound to nodes: not on kernels that know none.
    pub(super) known: bool,
}

impl Nodes {
    /// Those of a machine that have CPUs among `cpus`, and those that have memory.
    pub(super) fn of(machine: &Machine, cpus: &CpuSet, missing: &mut Vec<Missing>) -> Self {
        if machine.nodes.is_empty() {
            let why = "this kernel has no NUMA nodes: all memory is taken as one, node 0";
            missing.push(Missing::new("distances between nodes", why));
            return Self { from: vec![from(machine, 0, cpus)], memory: vec![0], known: false };
        }
        let mut nodes = Self { known: true, ..Self::default() };
        let may_use = |node: u32| {
            let limits = [&machine.limits.memory_nodes, &machine.limits.cpuset_nodes];
            limits.into_iter().flatten().all(|allowed| allowed.contains(node))
        };
        for node in &machine.nodes {
            let usable = node.cpus.intersection(cpus);
            let mut absent = |fact: &str, why: &str| {
                missing.push(Missing::new(format_args!("{fact} node {}", node.id), why))
            };
            match (node.cpus.is_empty(), usable.is_empty()) {
                (_, false) => nodes.from.push(from(machine, node.id, &usable)),
                (true, _) => absent("memory from", "it has no CPUs"),
                (false, true) => absent("memory from", "none of its CPUs is among those to measure"),
            }
            match (node.memory_bytes, may_use(node.id)) {
                (Some(0), _) => absent("memory of", "it has none"),
                (_, false) => {
                    absent("memory of", "this process may not use it (cpuset.mems, Mems_allowed_list)")
                }
                _ => nodes.memory.push(node.id),
            }
        }
        nodes
    }
}

fn from(machine: &Machine, node: u32, usable: &CpuSet) -> Origin {
    let cpus: CpuSet = usable.iter().take(MOST_CPUS).collect();
    let mut caches: Vec<_> = cpus.iter().filter_map(|cpu| machine.last_level_cache(cpu)).collect();
    caches.sort_by_key(|cache| (cache.cpus.first(), cache.level));
    caches.dedup_by_key(|cache| (cache.cpus.first(), cache.level));
    let bytes: Vec<u64> = caches.iter().filter_map(|cache| cache.bytes).collect();
    let all_caches_bytes = (!bytes.is_empty()).then(|| bytes.iter().sum());
    Origin { node, cpus, cache_bytes: bytes.into_iter().max(), all_caches_bytes }
}

#[cfg(test)]
mod tests {
    use machine::topology::caches::{Cache, CacheType};
    use machine::topology::nodes::Node;

    use super::*;

    fn set(list: &str) -> CpuSet {
        CpuSet::from_list(list).unwrap()
    }

    #[test]
    fn nodes_without_cpus_or_memory_are_named_and_caches_count_once() {
        let node =
            |id, cpus, bytes| Node { id, cpus: set(cpus), memory_bytes: Some(bytes), ..Node::default() };
        let cache =
            |cpus| Cache { level: 3, kind: CacheType::Unified, bytes: Some(8 << 20), cpus: set(cpus) };
        let mut machine = Machine {
            nodes: vec![
                node(0, "0-3", 1 << 30),
                node(1, "4-7", 0),
                node(4, "", 1 << 30),
                node(5, "8", 1 << 30),
            ],
            caches: vec![cache("0-1"), cache("2-3"), cache("4-7")],
            ..Machine::default()
        };
        machine.limits.memory_nodes = Some(set("0-1,4"));
        let mut missing = Vec::new();
        let nodes = Nodes::of(&machine, &set("1-5"), &mut missing);
        assert_eq!(
            nodes.from.iter().map(|from| (from.node, from.cpus.to_list())).collect::<Vec<_>>(),
            [(0, "1-3".to_string()), (1, "4-5".to_string())]
        );
        assert_eq!(
            (nodes.from[0].cache_bytes, nodes.from[0].all_caches_bytes),
            (Some(8 << 20), Some(16 << 20))
        );
        assert_eq!((nodes.memory, nodes.known), (vec![0, 4], true));
        let facts: Vec<&str> = missing.iter().map(|missing| missing.fact.as_str()).collect();
        assert_eq!(
            facts,
            ["memory of node 1", "memory from node 4", "memory from node 5", "memory of node 5"]
        );
    }

    #[test]
    fn without_nodes_all_memory_is_one() {
        let mut missing = Vec::new();
        let nodes = Nodes::of(&Machine::default(), &set("0-1"), &mut missing);
        assert_eq!((nodes.from.len(), nodes.memory, nodes.known, missing.len()), (1, vec![0], false, 1));
    }
}
