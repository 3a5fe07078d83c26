//! Which memory nodes a cgroup may use.

use crate::knobs::process::cpuset::{cgroups_with, existing, may_be_empty};
use crate::knobs::{About, Knob, MaySet, OwnerId, Target};
use crate::{Act, Class, CpuSet, Fault, Root};

/// The knob.
#[derive(Debug)]
pub struct CpusetMems;

static ABOUT: About = About {
    id: "cpuset-mems",
    title: "Memory nodes that the processes of a cgroup may use",
    docs: "A limit that processes cannot leave by mbind or set_mempolicy. Keeps the memory of a server on the node of its \
           CPUs, and that of its neighbours off it.",
    unit: "list of nodes; empty: those of the parent (version 2 only)",
    scope: "one cgroup directory with the cpuset controller, by its absolute path",
    owner: "systemd (AllowedMemoryNodes=, which a daemon-reload writes again), container engines, kubelet (memory manager), \
            NRI policies (topology-aware), katalyst, libvirt (numatune), slurm, numad",
    owners: &[
        OwnerId::Systemd,
        OwnerId::Docker,
        OwnerId::Containerd,
        OwnerId::CriO,
        OwnerId::Kubelet,
        OwnerId::NriResourcePolicy,
        OwnerId::KatalystAgent,
        OwnerId::Libvirtd,
        OwnerId::Virtqemud,
        OwnerId::Slurmd,
        OwnerId::Numad,
    ],
    risk: "Version 2, and version 1 with cpuset.memory_migrate, move the memory that is there: seconds for a large server, \
           and again when it is undone. Too small a set ends in reclaim or the OOM killer while other nodes are free.",
    may_set: MaySet::Root,
    source: "cpuset(7); Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/cpusets.rst",
};

impl Knob for CpusetMems {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn targets(&self, root: &Root) -> Result<Vec<Target>, Fault> {
        cgroups_with(root, "mems")
    }

    fn read(&self, root: &Root, target: &str) -> Result<String, Fault> {
        Ok(root.cpu_list(existing(root, &ABOUT, target, "mems")?)?.to_list())
    }

    fn change(&self, root: &Root, target: &str, value: &str) -> Result<Vec<Act>, Fault> {
        let path = existing(root, &ABOUT, target, "mems")?;
        let nodes = nodes(root, &ABOUT, target, value)?;
        if nodes.is_empty() {
            may_be_empty(root, &ABOUT, target, "name at least one node")?;
        }
        Ok(vec![Act::WriteFile { path: path.into(), value: nodes.to_list(), netns: None }])
    }
}

/// Reads a value that is a list of nodes, and holds it against those with memory, where they are known.
pub(in crate::knobs) fn nodes(
    root: &Root,
    about: &About,
    target: &str,
    value: &str,
) -> Result<CpuSet, Fault> {
    let nodes = CpuSet::from_list(value).map_err(|why| {
        let object = format!("{} of {target}", about.id);
        Fault::new(Class::Usage, object, why, "write a list of nodes such as 0-1")
    })?;
    with_memory(root, about, target, nodes)
}

/// The nodes themselves, if all of them have memory, where that is known.
pub(in crate::knobs) fn with_memory(
    root: &Root,
    about: &About,
    target: &str,
    nodes: CpuSet,
) -> Result<CpuSet, Fault> {
    let Ok(there) = root.cpu_list("/sys/devices/system/node/has_memory") else { return Ok(nodes) };
    let without = nodes.difference(&there);
    match without.is_empty() {
        true => Ok(nodes),
        false => {
            let cause = format!("node {without} is not there or has no memory");
            let object = format!("{} of {target}", about.id);
            Err(Fault::new(Class::Usage, object, cause, format!("choose from {there}")))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    #[test]
    fn nodes_without_memory_are_refused() {
        let root = Root::from_tree(
            Tree::new()
                .file("/sys/devices/system/node/has_memory", "0-1\n")
                .file("/proc/self/mountinfo", "41 31 0:38 / /cg rw - cgroup2 cgroup2 rw\n")
                .file("/cg/a/cgroup.procs", "")
                .file("/cg/a/cpuset.mems", "\n"),
        );
        assert_eq!(CpusetMems.targets(&root).unwrap()[0].id, "/cg/a");
        assert_eq!(CpusetMems.read(&root, "/cg/a").unwrap(), "");
        let fault = CpusetMems.change(&root, "/cg/a", "1-2").unwrap_err();
        assert!(fault.cause.contains("node 2") && fault.remedy.contains("0-1"), "{fault}");
        let acts = CpusetMems.change(&root, "/cg/a", "1").unwrap();
        assert!(matches!(&acts[..], [Act::WriteFile { value, .. }] if value == "1"), "{acts:?}");
    }
}
