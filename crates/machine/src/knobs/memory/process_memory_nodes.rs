//! On which nodes the memory of a running process lies.

use super::cpuset_mems::nodes;
use crate::knobs::process::process_affinity::{process, processes};
use crate::knobs::{About, Knob, MaySet, OwnerId, Target, no_such};
use crate::processes::numa_memory::NumaMemory;
use crate::procfs::pid_stat;
use crate::{Act, Class, CpuSet, Fault, Root};

/// The knob.
#[derive(Debug)]
pub struct ProcessMemoryNodes;

static ABOUT: About = About {
    id: "process-memory-nodes",
    title: "Memory nodes on which the memory of a running process lies",
    docs: "Moves what lies on other nodes onto these: after a server was moved to another node by process-affinity, its memory \
           stays where it was. Moved once: what the process takes later comes from where its policy says, mostly the node of the \
           CPU that touches it. Where the process is in a cgroup of version 2 with the controller cpuset, the knob cpuset-mems \
           does better: it moves as much and keeps the process there.",
    unit: "list of nodes; those that hold more than 1 of 100 of its bytes when it is read",
    scope: "one process number, with the memory that it has at the moment",
    owner: "the process itself (mbind, move_pages), numactl and migratepages, numad, the kernel's NUMA balancing (knob \
            numa-balancing), which moves pages to the node that touches them; libvirt (numatune); its cgroup's cpuset.mems",
    owners: &[OwnerId::Numad, OwnerId::Libvirtd, OwnerId::Virtqemud],
    risk: "The process waits for pages that are being moved: some seconds for each 10 GiB. As root, pages that it shares with \
           others (libraries, shared memory) are moved too. Pages that are pinned stay (RDMA, io_uring, vfio). Undo brings as many \
           bytes back to each node as there were, not each page to its own (a huge page as a whole), and says where it could not.",
    may_set: MaySet::OwnProcesses,
    source: "migrate_pages(2); move_pages(2); numa(7), /proc/PID/numa_maps",
};

impl Knob for ProcessMemoryNodes {
    fn about(&self) -> &About {
        &ABOUT
    }

    /// None on a machine with one node that has memory: there is nowhere to move to.
    fn targets(&self, root: &Root) -> Result<Vec<Target>, Fault> {
        if why_not(root).is_some() {
            return Ok(Vec::new());
        }
        let mut targets = processes(root)?;
        targets.retain(|target| !is_kernel_thread(root, &target.id));
        Ok(targets)
    }

    fn read(&self, root: &Root, target: &str) -> Result<String, Fault> {
        let process = process(root, &ABOUT, target)?;
        let memory = NumaMemory::read(root, process.pid)?;
        match memory.total_bytes() {
            0 => Err(no_such(
                &ABOUT,
                target,
                "it has no memory of its own: a thread of the kernel, or one that ends",
            )),
            _ => Ok(lies_on(&memory).to_list()),
        }
    }

    fn change(&self, root: &Root, target: &str, value: &str) -> Result<Vec<Act>, Fault> {
        let process = process(root, &ABOUT, target)?;
        let object = || format!("{} of {target}", ABOUT.id);
        if let Some(why) = why_not(root) {
            let remedy = "leave it: all memory is equally near";
            return Err(Fault::new(Class::MachineLacks, object(), why, remedy));
        }
        let nodes = nodes(root, &ABOUT, target, value)?;
        match nodes.is_empty() {
            true => Err(Fault::new(Class::Usage, object(), "the list is empty", "name at least one node")),
            false => Ok(vec![Act::MigratePages { process, nodes }]),
        }
    }
}

/// Why nothing can be moved on this machine.
fn why_not(root: &Root) -> Option<&'static str> {
    match root.cpu_list("/sys/devices/system/node/has_memory").unwrap_or_default().len() {
        0 => Some("this kernel has no memory nodes (CONFIG_NUMA)"),
        1 => Some("this machine has one node of memory, so that there is nowhere to move to"),
        _ => None,
    }
}

fn is_kernel_thread(root: &Root, pid: &str) -> bool {
    let text = root.read(format!("/proc/{pid}/stat")).unwrap_or_default();
    pid_stat::parse(&text).is_ok_and(|stat| stat.is_kernel_thread())
}

/// The nodes that hold more than 1 of 100 of the bytes: shared libraries lie where they were read first.
fn lies_on(memory: &NumaMemory) -> CpuSet {
    let total = memory.total_bytes();
    let holds = |bytes: u64| u128::from(bytes) * 100 > u128::from(total);
    memory.nodes.iter().filter(|(_, bytes)| holds(**bytes)).map(|(node, _)| *node).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ProcessRef, Tree};

    fn root(has_memory: &str) -> Root {
        let stat = "7 (s) S 1 7 7 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 300 0 0\n";
        let kernel = "9 (kworker/0:1) S 2 0 0 0 -1 69238880 0 0 0 0 0 0 0 0 20 0 1 0 30 0 0\n";
        let maps = "1000 default anon=99 N0=99 kernelpagesize_kB=4\n2000 default file=/l mapped=1 N1=1 kernelpagesize_kB=4\n";
        Root::from_tree(
            Tree::new()
                .file("/sys/devices/system/node/has_memory", has_memory)
                .file("/proc/7/stat", stat)
                .file("/proc/7/task/7/stat", stat)
                .file("/proc/7/numa_maps", maps)
                .file("/proc/9/stat", kernel)
                .file("/proc/9/task/9/stat", kernel)
                .file("/proc/9/numa_maps", ""),
        )
    }

    #[test]
    fn where_memory_lies_is_reported_and_where_it_is_to_lie_asked_for() {
        let root = root("0-1\n");
        let targets = ProcessMemoryNodes.targets(&root).unwrap();
        assert_eq!(targets.iter().map(|target| target.id.as_str()).collect::<Vec<_>>(), ["7"]);
        assert_eq!(ProcessMemoryNodes.read(&root, "7").unwrap(), "0");
        let acts = ProcessMemoryNodes.change(&root, "7", "1").unwrap();
        let process = ProcessRef { pid: 7, start_time_ticks: 300 };
        assert_eq!(acts, [Act::MigratePages { process, nodes: CpuSet::single(1) }]);
        for bad in ["", "2", "x"] {
            assert!(ProcessMemoryNodes.change(&root, "7", bad).is_err(), "{bad}");
        }
        assert!(ProcessMemoryNodes.read(&root, "9").unwrap_err().cause.contains("no memory"));
    }

    #[test]
    fn one_node_is_nowhere_to_move_to() {
        let root = root("0\n");
        assert_eq!(ProcessMemoryNodes.targets(&root).unwrap(), []);
        let fault = ProcessMemoryNodes.change(&root, "7", "0").unwrap_err();
        assert!(fault.class == Class::MachineLacks && fault.cause.contains("one node"), "{fault}");
    }
}
