//! How near the target's memory lies to the CPUs on which it ran.

use std::collections::BTreeMap;

use machine::processes::NumaMemory;
use machine::{Machine, Missing, Root};
use serde::{Deserialize, Serialize};

use super::cpu::CpuAccount;

/// Memory of the target at the end of the window, and where it had CPU time within it, by node.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Nearness {
    /// By node.
    pub nodes: BTreeMap<u32, NodeShare>,
    /// The share of memory accesses that would go to another node if each page were used alike from wherever its threads ran:
    /// 0 when all is local, 1 when all is remote. `None` without memory or CPU time. The kernel counts no accesses, so that this
    /// says what is to be expected, not what was.
    pub expected_remote_share: Option<f64>,
}

/// What a node had of the target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct NodeShare {
    /// Its memory there, bytes. Source: /proc/PID/numa_maps.
    pub memory_bytes: u64,
    /// What its threads had of CPUs there, net of interrupts, ns.
    pub on_cpu_ns: u64,
}

impl Nearness {
    /// Reads where the memory of the target's processes lies now; the kernel walks over their page tables for that, some 10 ms for each
    /// GiB. `None` on a machine with one node, which is not even asked for the processes, and without a process.
    ///
    /// # Errors
    /// When no process can be read: it has ended, or is another user's.
    pub fn read(
        root: &Root,
        machine: &Machine,
        pids: impl FnOnce() -> Vec<u32>,
        cpus: &[CpuAccount],
    ) -> Option<Result<Self, Missing>> {
        if machine.nodes.len() < 2 {
            return None;
        }
        let pids = pids();
        if pids.is_empty() {
            return None;
        }
        let read: Vec<_> = pids.iter().map(|pid| NumaMemory::read(root, *pid)).collect();
        let known: Vec<&NumaMemory> = read.iter().flatten().collect();
        let why = read.iter().find_map(|read| read.as_ref().err());
        Some(match (known.is_empty(), why) {
            (true, Some(why)) => Err(Missing::new("on which nodes its memory lies", why)),
            _ => Ok(Self::of(&NumaMemory::together(&known), machine, cpus)),
        })
    }

    /// Lays memory and CPU time side by side.
    pub fn of(memory: &NumaMemory, machine: &Machine, cpus: &[CpuAccount]) -> Self {
        let mut nodes: BTreeMap<u32, NodeShare> = BTreeMap::new();
        for (node, bytes) in &memory.nodes {
            nodes.entry(*node).or_default().memory_bytes += bytes;
        }
        for cpu in cpus.iter().filter(|cpu| cpu.target_ns > 0) {
            if let Some(node) = machine.cpu(cpu.cpu).and_then(|cpu| cpu.node) {
                nodes.entry(node).or_default().on_cpu_ns += cpu.target_ns;
            }
        }
        let bytes: u64 = nodes.values().map(|node| node.memory_bytes).sum();
        let ns: u64 = nodes.values().map(|node| node.on_cpu_ns).sum();
        let local =
            |node: &NodeShare| node.memory_bytes as f64 / bytes as f64 * (node.on_cpu_ns as f64 / ns as f64);
        let expected_remote_share =
            (bytes > 0 && ns > 0).then(|| 1.0 - nodes.values().map(local).sum::<f64>());
        Self { nodes, expected_remote_share }
    }
}

#[cfg(test)]
mod tests {
    use machine::Tree;
    use machine::topology::cpus::Cpu;
    use machine::topology::nodes::Node;

    use super::*;

    fn machine() -> Machine {
        let cpu = |id, node| Cpu { id, online: true, node: Some(node), ..Cpu::default() };
        let node = |id| Node { id, ..Node::default() };
        Machine { cpus: vec![cpu(0, 0), cpu(1, 1)], nodes: vec![node(0), node(1)], ..Machine::default() }
    }

    fn ran(cpu: u32, target_ns: u64) -> CpuAccount {
        CpuAccount { cpu, target_ns, ..CpuAccount::default() }
    }

    fn share(maps: &str, cpus: &[CpuAccount]) -> Option<f64> {
        let tree = Tree::new().file("/proc/7/numa_maps", maps);
        let read = Nearness::read(&Root::from_tree(tree), &machine(), || vec![7], cpus);
        read.unwrap().unwrap().expected_remote_share
    }

    #[test]
    fn remote_is_what_lies_elsewhere_than_it_ran() {
        let all_on_1 = "1000 default anon=90 dirty=90 N1=90 kernelpagesize_kB=4\n";
        assert_eq!(share(all_on_1, &[ran(0, 500)]), Some(1.0));
        assert_eq!(share(all_on_1, &[ran(1, 500)]), Some(0.0));
        let half = "1000 default anon=90 dirty=90 N0=45 N1=45 kernelpagesize_kB=4\n";
        assert_eq!(share(half, &[ran(1, 500)]), Some(0.5));
        // Three quarters of the time on node 0, which has a third of the memory: 1 - (3/4 * 1/3 + 1/4 * 2/3).
        let third = "1000 default anon=90 dirty=90 N0=30 N1=60 kernelpagesize_kB=4\n";
        let remote = share(third, &[ran(0, 750), ran(1, 250)]).unwrap();
        assert!((remote - 7.0 / 12.0).abs() < 1e-12, "{remote}");
        assert_eq!(share(third, &[]), None, "it had no CPU");
    }

    #[test]
    fn one_node_has_nothing_to_tell_and_a_process_that_ended_is_missing() {
        let root = Root::from_tree(Tree::new());
        let one = Machine { nodes: vec![Node::default()], ..Machine::default() };
        assert!(Nearness::read(&root, &one, || panic!("looked for processes"), &[]).is_none());
        assert!(Nearness::read(&root, &machine(), Vec::new, &[]).is_none());
        assert!(Nearness::read(&root, &machine(), || vec![7], &[]).unwrap().is_err());
    }
}
