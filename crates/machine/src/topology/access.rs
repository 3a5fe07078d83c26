//! How fast a node's memory is for those next to it (Documentation/admin-guide/mm/numaperf.rst: ACPI HMAT, CXL CDAT).

use serde::{Deserialize, Serialize};

use super::{NODES, numbered};
use crate::{CpuSet, Notes, Root};

/// Performance of a node's memory from the nodes that reach it best.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Access {
    /// Class: 0 for the best initiators of any kind, 1 for the best ones that are CPUs.
    pub class: u32,
    /// The nodes that the figures hold for.
    pub initiators: CpuSet,
    /// Reading, MB/s.
    pub read_bandwidth_mb_per_s: Option<u64>,
    /// Writing, MB/s.
    pub write_bandwidth_mb_per_s: Option<u64>,
    /// Reading, ns.
    pub read_latency_ns: Option<u64>,
    /// Writing, ns.
    pub write_latency_ns: Option<u64>,
}

/// A cache in front of a node's memory (DRAM before persistent memory, HBM before DRAM).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct MemorySideCache {
    /// 1 is nearest to the memory.
    pub level: u32,
    /// Size, bytes; `None` where the firmware does not report it.
    pub bytes: Option<u64>,
    /// Line, bytes.
    pub line_bytes: Option<u64>,
}

/// The classes that the kernel knows (`ACCESS_COORDINATE_MAX`, include/linux/node.h).
const CLASSES: u32 = 2;

/// Reads the access classes of a node; most machines have none, which is nothing to note.
pub(super) fn classes(root: &Root, node: u32, notes: &mut Notes) -> Vec<Access> {
    let mut classes = Vec::new();
    // By name: the node's folder holds an entry for each block of memory, thousands on large machines.
    for class in 0..CLASSES {
        let dir = format!("{NODES}/node{node}/access{class}/initiators");
        let Ok(names) = root.list(&dir) else { continue };
        let mut figure = |file: &str| match root.number::<u64>(format!("{dir}/{file}")) {
            Err(e) if e.is_absent() => None,
            // The kernel prints 0 for what the firmware does not report.
            other => notes.keep(format!("{file} of node {node}"), other).filter(|n| *n > 0),
        };
        classes.push(Access {
            class,
            read_bandwidth_mb_per_s: figure("read_bandwidth"),
            write_bandwidth_mb_per_s: figure("write_bandwidth"),
            read_latency_ns: figure("read_latency"),
            write_latency_ns: figure("write_latency"),
            initiators: numbered(&names, "node"),
        });
    }
    classes
}

/// Reads the memory-side caches of a node.
pub(super) fn side_caches(root: &Root, node: u32) -> Vec<MemorySideCache> {
    let dir = format!("{NODES}/node{node}/memory_side_cache");
    let names = root.list(&dir).unwrap_or_default();
    let known = |file: String| root.number::<u64>(file).ok().filter(|n| *n > 0);
    let cache = |index: u32| MemorySideCache {
        level: index,
        bytes: known(format!("{dir}/index{index}/size")),
        line_bytes: known(format!("{dir}/index{index}/line_size")),
    };
    numbered(&names, "index").iter().map(cache).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    #[test]
    fn figures_of_the_firmware_and_what_it_does_not_report() {
        let dir = format!("{NODES}/node2/access0/initiators");
        let tree = Tree::new()
            .link(&format!("{dir}/node0"), "../../../node0")
            .file(&format!("{dir}/read_bandwidth"), "102400\n")
            .file(&format!("{dir}/read_latency"), "0\n")
            .file(&format!("{dir}/write_latency"), "fast\n")
            .dir(&format!("{NODES}/node2/access1/targets"))
            .file(&format!("{NODES}/node2/memory_side_cache/index1/size"), "0\n")
            .file(&format!("{NODES}/node2/memory_side_cache/index1/line_size"), "64\n");
        let root = Root::from_tree(tree);
        let mut notes = Notes::new();
        let classes = classes(&root, 2, &mut notes);
        assert_eq!(classes.len(), 1);
        assert_eq!(classes[0].initiators, CpuSet::single(0));
        assert_eq!((classes[0].read_bandwidth_mb_per_s, classes[0].read_latency_ns), (Some(102_400), None));
        assert_eq!(notes.into_vec()[0].fact, "write_latency of node 2");
        let side = side_caches(&root, 2);
        assert_eq!((side[0].level, side[0].bytes, side[0].line_bytes), (1, None, Some(64)));
    }
}
