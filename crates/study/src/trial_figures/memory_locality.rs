//! How much of the server's memory lies on the nodes on which it ran: read once at the end of a trial, on machines with several nodes.

use std::collections::BTreeMap;
use std::sync::Arc;

use machine::processes::{self, NumaMemory};
use machine::{Machine, Missing, Root};

use super::trial_figure::{Measured, TrialFigure};
use crate::recipe::Direction;

/// The share of the server's memory that lies on the nodes where it ran.
pub(super) static LOCAL_SHARE: TrialFigure = TrialFigure {
    name: "memory_local_share",
    unit: None,
    direction: Some(Direction::Higher),
    of: local_share,
};

fn local_share(measured: &Measured<'_>) -> Result<Option<f64>, Missing> {
    match measured.locality {
        Some(locality) => locality.local_share(measured.server_cpus_used),
        None => Ok(None),
    }
}

/// The node of each CPU, of a machine with several nodes.
#[derive(Debug, Clone)]
pub(crate) struct Nodes(Arc<BTreeMap<u32, u32>>);

/// The server's memory by node at the end of a run, and the nodes that its CPUs are of.
#[derive(Debug)]
pub(crate) struct Locality {
    nodes: Nodes,
    memory: Result<NumaMemory, Missing>,
}

impl Nodes {
    /// `None` on a machine with one node, on which all memory is as near.
    pub fn of(machine: &Machine) -> Option<Self> {
        let by_cpu = machine.cpus.iter().filter_map(|cpu| Some((cpu.id, cpu.node?)));
        (machine.nodes.len() > 1).then(|| Self(Arc::new(by_cpu.collect())))
    }

    /// Reads where the memory of the server with this process, and of those that it started, lies now. The kernel walks over their page
    /// tables for it, some 10 ms for each GiB: the window is over by then.
    pub fn read(&self, root: &Root, pid: u32) -> Locality {
        let found = processes::find(root, &pid.to_string());
        let memory = found
            .map_err(|why| Missing::new(LOCAL_SHARE.name, why))
            .and_then(|found| memory_of(root, &found.pids));
        Locality { nodes: self.clone(), memory }
    }
}

/// The memory of these processes together; those that have ended meanwhile have none.
fn memory_of(root: &Root, pids: &[u32]) -> Result<NumaMemory, Missing> {
    let read: Vec<_> = pids.iter().map(|pid| NumaMemory::read(root, *pid)).collect();
    let known: Vec<&NumaMemory> = read.iter().flatten().collect();
    match (known.is_empty(), read.iter().find_map(|read| read.as_ref().err())) {
        (true, Some(why)) => Err(Missing::new(LOCAL_SHARE.name, why)),
        _ => Ok(NumaMemory::together(&known)),
    }
}

impl Locality {
    /// The share of memory accesses that would be local if each page were used alike from wherever the server's threads ran, by the share
    /// of their time on each CPU. `None` without memory or CPU time.
    ///
    /// # Errors
    /// Where the memory lies could not be read.
    fn local_share(&self, cpus_used: &BTreeMap<u32, f64>) -> Result<Option<f64>, Missing> {
        let memory = self.memory.as_ref().map_err(Clone::clone)?;
        let bytes: u64 = memory.nodes.values().sum();
        let used: f64 = cpus_used.values().sum();
        if bytes == 0 || used <= 0.0 {
            return Ok(None);
        }
        let on_node = |cpu: &u32| {
            let node = self.nodes.0.get(cpu)?;
            memory.nodes.get(node).map(|bytes| *bytes as f64)
        };
        let local: f64 =
            cpus_used.iter().map(|(cpu, share)| share / used * on_node(cpu).unwrap_or(0.0)).sum();
        Ok(Some(local / bytes as f64))
    }
}

#[cfg(test)]
mod tests {
    use machine::Tree;
    use machine::topology::cpus::Cpu;
    use machine::topology::nodes::Node;

    use super::*;

    fn nodes(count: u32) -> Option<Nodes> {
        let cpu = |id| Cpu { id, online: true, node: Some(id), ..Cpu::default() };
        let node = |id| Node { id, ..Node::default() };
        Nodes::of(&Machine {
            cpus: (0..count).map(cpu).collect(),
            nodes: (0..count).map(node).collect(),
            ..Machine::default()
        })
    }

    fn share(maps: &str, used: &[(u32, f64)]) -> Result<Option<f64>, Missing> {
        let root = Root::from_tree(Tree::new().file("/proc/7/numa_maps", maps));
        let locality = Locality { nodes: nodes(2).unwrap(), memory: memory_of(&root, &[7]) };
        locality.local_share(&used.iter().copied().collect())
    }

    #[test]
    fn memory_is_local_as_far_as_the_server_ran_where_it_lies() {
        let three_quarters = "1000 default anon=80 dirty=80 N0=60 N1=20 kernelpagesize_kB=4\n";
        assert_eq!(share(three_quarters, &[(0, 1.0)]), Ok(Some(0.75)));
        assert_eq!(share(three_quarters, &[(1, 1.0)]), Ok(Some(0.25)));
        // On both nodes alike it is a half, however the memory lies.
        assert_eq!(share(three_quarters, &[(0, 0.5), (1, 0.5)]), Ok(Some(0.5)));
        assert_eq!(share(three_quarters, &[]), Ok(None));
        assert!(share("torn", &[(0, 1.0)]).is_err());
    }

    #[test]
    fn a_machine_with_one_node_has_nothing_to_report() {
        assert!(nodes(1).is_none());
    }
}
