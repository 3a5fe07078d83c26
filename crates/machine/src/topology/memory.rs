//! Memory: what is free, what is set aside in huge pages, tiers, swap
//! (Documentation/filesystems/proc.rst, Documentation/admin-guide/mm/hugetlbpage.rst,
//! Documentation/ABI/testing/sysfs-kernel-mm-memory-tiers).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::numbered;
use crate::{CpuSet, Notes, ReadError, Root};

/// Folder of the memory tiers, since 6.1.
const TIERS: &str = "/sys/devices/virtual/memory_tiering";

/// Memory of the whole machine, beside its size.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Memory {
    /// Not used for anything, bytes (`MemFree`).
    pub free_bytes: Option<u64>,
    /// To be had without swapping, bytes (`MemAvailable`, since 3.14).
    pub available_bytes: Option<u64>,
    /// Swap space, bytes; 0 without swap.
    pub swap_total_bytes: Option<u64>,
    /// Swap space that is not used, bytes.
    pub swap_free_bytes: Option<u64>,
    /// Pages set aside by size.
    pub huge_pages: Vec<HugePages>,
    /// Tiers of memory by speed, the fastest first; empty on kernels before 6.1.
    pub tiers: Vec<Tier>,
}

/// Huge pages of one size that are set aside (hugetlb), of the machine or of one node.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HugePages {
    /// Size of one page, bytes.
    pub size_bytes: u64,
    /// How many there are.
    pub total: Option<u64>,
    /// How many of them nobody uses.
    pub free: Option<u64>,
}

/// One tier of memory: nodes that are about as fast.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Tier {
    /// Number; the lower, the faster (4 is ordinary DRAM).
    pub id: u32,
    /// Its nodes.
    pub nodes: CpuSet,
}

/// Reads /proc/meminfo's text and the folders beside it.
pub(crate) fn read(root: &Root, meminfo: Option<&str>, notes: &mut Notes) -> Memory {
    let lines = meminfo.map(parse_meminfo).unwrap_or_default();
    // A line that the kernel does not print is no fault; one that is no number is.
    let mut bytes = |key: &str| {
        let of_key = |line: &str| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(':'));
        let value = lines.get(key).copied();
        if value.is_none() && meminfo.is_some_and(|text| text.lines().any(of_key)) {
            notes.missing(format_args!("{key} of /proc/meminfo"), "the line has no number of kB");
        }
        value
    };
    let (free_bytes, available_bytes) = (bytes("MemFree"), bytes("MemAvailable"));
    let (swap_total_bytes, swap_free_bytes) = (bytes("SwapTotal"), bytes("SwapFree"));
    Memory {
        free_bytes,
        available_bytes,
        swap_total_bytes,
        swap_free_bytes,
        huge_pages: huge_pages(root, "/sys/kernel/mm/hugepages", notes),
        tiers: tiers(root, notes),
    }
}

/// The lines of a meminfo file that are in kB, in bytes, without the `Node N` of a node's file.
pub(crate) fn parse_meminfo(text: &str) -> BTreeMap<&str, u64> {
    let line = |line: &'_ str| -> Option<(usize, u64)> {
        let (before, value) = line.split_once(':')?;
        let kib: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
        Some((before.len(), kib.checked_mul(1024)?))
    };
    let lines = text.lines().filter_map(|text| {
        let (end, bytes) = line(text)?;
        Some((text[..end].split_whitespace().next_back()?, bytes))
    });
    lines.collect()
}

/// The pools in a folder of `hugepages-SIZEkB`, smallest pages first. Kernels without hugetlb have no such folder.
pub(crate) fn huge_pages(root: &Root, dir: &str, notes: &mut Notes) -> Vec<HugePages> {
    let names = match root.list(dir) {
        Err(e) if e.is_absent() => return Vec::new(),
        other => notes.keep(format!("huge pages of {dir}"), other).unwrap_or_default(),
    };
    let size = |name: &str| -> Option<u64> {
        name.strip_prefix("hugepages-")?.strip_suffix("kB")?.parse::<u64>().ok()?.checked_mul(1024)
    };
    let mut pools: Vec<HugePages> = Vec::new();
    for (name, size_bytes) in names.iter().filter_map(|name| Some((name, size(name)?))) {
        let mut count = |file: &str| {
            let answer = root.number(format!("{dir}/{name}/{file}"));
            notes.keep(format!("{file} of {dir}/{name}"), answer)
        };
        pools.push(HugePages { size_bytes, total: count("nr_hugepages"), free: count("free_hugepages") });
    }
    pools.sort_by_key(|pool| pool.size_bytes);
    pools
}

fn tiers(root: &Root, notes: &mut Notes) -> Vec<Tier> {
    let names = root.list(TIERS).unwrap_or_default();
    let tier = |id: u32| -> Result<Tier, ReadError> {
        Ok(Tier { id, nodes: root.cpu_list(format!("{TIERS}/memory_tier{id}/nodelist"))? })
    };
    let ids = numbered(&names, "memory_tier");
    ids.iter().filter_map(|id| notes.keep(format!("memory tier {id}"), tier(id))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    #[test]
    fn meminfo_of_the_machine_and_of_a_node() {
        let lines =
            parse_meminfo("MemTotal:  16 kB\nMemFree: 1 kB\nHugePages_Total: 5\nNode 3 Active(anon): 2 kB\n");
        assert_eq!(lines, BTreeMap::from([("MemTotal", 16384), ("MemFree", 1024), ("Active(anon)", 2048)]));
        assert!(parse_meminfo("MemFree: x kB\n:\nMemFree 3 kB\n: 1 kB\n").is_empty());
    }

    #[test]
    fn pools_tiers_and_what_is_malformed() {
        let pools = "/sys/kernel/mm/hugepages";
        let tree = Tree::new()
            .file(&format!("{pools}/hugepages-1048576kB/nr_hugepages"), "0\n")
            .file(&format!("{pools}/hugepages-1048576kB/free_hugepages"), "0\n")
            .file(&format!("{pools}/hugepages-2048kB/nr_hugepages"), "8\n")
            .file(&format!("{pools}/hugepages-2048kB/free_hugepages"), "many\n")
            .dir(&format!("{pools}/demote"))
            .file(&format!("{TIERS}/memory_tier4/nodelist"), "0-1\n")
            .file(&format!("{TIERS}/memory_tier22/nodelist"), "?\n");
        let mut notes = Notes::new();
        let memory = read(&Root::from_tree(tree), Some("SwapTotal: 0 kB\nMemFree: -5 kB\n"), &mut notes);
        let told: Vec<_> = memory.huge_pages.iter().map(|p| (p.size_bytes >> 20, p.total, p.free)).collect();
        assert_eq!(told, [(2, Some(8), None), (1024, Some(0), Some(0))]);
        assert_eq!((memory.swap_total_bytes, memory.available_bytes), (Some(0), None));
        assert_eq!(memory.tiers, [Tier { id: 4, nodes: (0..2).collect() }]);
        let facts: Vec<_> = notes.into_vec().into_iter().map(|m| m.fact).collect();
        assert_eq!(memory.free_bytes, None);
        let odd = "MemFree of /proc/meminfo".to_string();
        assert_eq!(
            facts,
            [odd, format!("free_hugepages of {pools}/hugepages-2048kB"), "memory tier 22".into()]
        );
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_the_parser_panic(text in "(?s)[a-zA-Z0-9: \n]{0,80}") {
            let _ = parse_meminfo(&text);
        }
    }
}
