//! The order in which a server that grows takes CPUs. Pure.

use std::collections::BTreeMap;

use machine::{CpuSet, Machine};

use crate::recipe::Fill;

/// The CPUs of `within`, in the order of `fill`. A CPU whose core is not known is a core of its own.
pub fn order(fill: Fill, machine: &Machine, within: &CpuSet) -> Vec<u32> {
    let nodes = cores_by_node(machine, within);
    let cores: Vec<&Vec<u32>> = match fill {
        Fill::CoresFirst | Fill::SiblingsFirst => nodes.values().flatten().collect(),
        Fill::Spread => in_turn(nodes.values()),
    };
    match fill {
        Fill::SiblingsFirst => cores.into_iter().flatten().copied().collect(),
        Fill::CoresFirst | Fill::Spread => {
            let widest = cores.iter().map(|core| core.len()).max().unwrap_or_default();
            (0..widest)
                .flat_map(|thread| cores.iter().filter_map(move |core| core.get(thread).copied()))
                .collect()
        }
    }
}

/// The usable threads of each core by node; cores of no known node come last, together.
fn cores_by_node(machine: &Machine, within: &CpuSet) -> BTreeMap<u32, Vec<Vec<u32>>> {
    let mut nodes: BTreeMap<u32, Vec<Vec<u32>>> = BTreeMap::new();
    for cpu in machine.cpus.iter().filter(|cpu| within.contains(cpu.id)) {
        let core = cpu.siblings.clone().unwrap_or_else(|| CpuSet::single(cpu.id)).intersection(within);
        if core.first() == Some(cpu.id) {
            nodes.entry(cpu.node.unwrap_or(u32::MAX)).or_default().push(core.iter().collect());
        }
    }
    nodes
}

/// The first of each, the second of each, ...
fn in_turn<'a>(nodes: impl Iterator<Item = &'a Vec<Vec<u32>>> + Clone) -> Vec<&'a Vec<u32>> {
    let longest = nodes.clone().map(Vec::len).max().unwrap_or_default();
    (0..longest).flat_map(|i| nodes.clone().filter_map(move |cores| cores.get(i))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::levels::tests::two_nodes_of_two_cores_of_two_threads;

    fn ordered(fill: Fill, within: &str) -> Vec<u32> {
        order(fill, &two_nodes_of_two_cores_of_two_threads(), &CpuSet::from_list(within).unwrap())
    }

    #[test]
    fn each_order_takes_every_cpu_once() {
        assert_eq!(ordered(Fill::CoresFirst, "0-7"), [0, 2, 1, 3, 4, 6, 5, 7]);
        assert_eq!(ordered(Fill::SiblingsFirst, "0-7"), [0, 4, 2, 6, 1, 5, 3, 7]);
        assert_eq!(ordered(Fill::Spread, "0-7"), [0, 1, 2, 3, 4, 5, 6, 7]);
    }

    #[test]
    fn what_may_not_be_used_is_left_out() {
        assert_eq!(ordered(Fill::CoresFirst, "2-4,7"), [2, 4, 3, 7]);
        assert_eq!(ordered(Fill::SiblingsFirst, "1,5-6"), [6, 1, 5]);
        assert!(ordered(Fill::Spread, "").is_empty());
    }
}
