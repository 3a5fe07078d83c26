//! On which nodes the memory of processes lies, and under which policies it was asked for (numa(7)).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::procfs::Malformed;
use crate::procfs::numa_maps::{self, Mapping};
use crate::{ReadError, Root};

/// Most policies and shared objects that are distinguished; what comes after them is counted in one.
const MOST_POLICIES: usize = 64;
const MOST_SHARED: usize = 4096;
/// What is counted under no name of its own.
const OTHERS: &str = "others";

/// Memory of one process or several by node, as /proc/PID/numa_maps reports it.
///
/// Transparent huge pages count as memory here like all other; numa_maps does not show them separately.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct NumaMemory {
    /// Bytes on each node that holds any.
    pub nodes: BTreeMap<u32, u64>,
    /// Bytes under each policy, as the kernel prints it: `default`, `bind:0-1`, `prefer:1`, `interleave:0-3`, ...
    /// A mapping without a policy of its own counts under that of the process.
    pub policies: BTreeMap<String, u64>,
    /// Bytes of it in huge pages of hugetlbfs.
    pub huge_bytes: u64,
    /// Mappings that were read.
    pub mappings: u64,
    /// Pages that other processes map too, by object. Kept to count them once in a sum of processes.
    #[serde(skip)]
    shared: BTreeMap<Object, Share>,
}

/// What processes can share: a file, or anonymous memory that a parent handed down at one address.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Object {
    file: String,
    start: u64,
}

/// What one process maps of a shared object.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Share {
    policy: String,
    huge: bool,
    nodes: BTreeMap<u32, u64>,
}

impl NumaMemory {
    /// Reads the map of one process. The kernel walks over its page tables for that: some 10 ms for each GiB of small
    /// pages, in which the process can go on, but not change its mappings.
    ///
    /// Errors: absent (a kernel without CONFIG_NUMA has one memory that is equally near; the process has ended),
    /// denied (another user's process), malformed.
    pub fn read(root: &Root, pid: u32) -> Result<Self, ReadError> {
        let path = format!("/proc/{pid}/numa_maps");
        let page_bytes: Option<u64> = root.fact("page_size").ok().and_then(|size| size.parse().ok());
        let mut memory = Self::default();
        let mut bad: Option<Malformed> = None;
        let mut number = 0;
        let read = root.each_line(&path, |line| {
            number += 1;
            if bad.is_none() {
                bad = numa_maps::parse_line(number, line)
                    .and_then(|mapping| memory.add(&mapping, page_bytes, number))
                    .err();
            }
        });
        read.map_err(|e| match e.is_absent() && root.exists(format!("/proc/{pid}/stat")) {
            true => {
                ReadError::absent(&path, "there is no such file: a kernel without CONFIG_NUMA has one memory")
            }
            false => e,
        })?;
        match bad {
            Some(bad) => Err(ReadError::malformed(&path, bad)),
            None => Ok(memory),
        }
    }

    /// Reads a whole text; for tests and tools that have it.
    pub fn parse(text: &str, page_bytes: Option<u64>) -> Result<Self, Malformed> {
        let mut memory = Self::default();
        for (index, line) in text.lines().enumerate() {
            memory.add(&numa_maps::parse_line(index + 1, line)?, page_bytes, index + 1)?;
        }
        Ok(memory)
    }

    fn add(&mut self, mapping: &Mapping<'_>, page_bytes: Option<u64>, line: usize) -> Result<(), Malformed> {
        self.mappings += 1;
        if mapping.pages.is_empty() {
            return Ok(());
        }
        let size = mapping.page_bytes.or(page_bytes.filter(|_| !mapping.huge));
        let size = size
            .ok_or_else(|| Malformed::new(line, "kernelpagesize_kB", "the size of the pages is missing"))?;
        let mut share = Share { policy: mapping.policy.to_string(), huge: mapping.huge, ..Share::default() };
        for (node, pages) in &mapping.pages {
            let bytes = share.nodes.entry(*node).or_default();
            *bytes = bytes.saturating_add(pages.saturating_mul(size));
        }
        self.count(&share);
        if mapping.shared {
            self.keep(Object::of(mapping), &share);
        }
        Ok(())
    }

    fn count(&mut self, share: &Share) {
        let sum: u64 = share.nodes.values().fold(0, |sum, bytes| sum.saturating_add(*bytes));
        for (node, bytes) in &share.nodes {
            let slot = self.nodes.entry(*node).or_default();
            *slot = slot.saturating_add(*bytes);
        }
        let known = self.policies.len() < MOST_POLICIES || self.policies.contains_key(&share.policy);
        let policy = if known { share.policy.as_str() } else { OTHERS };
        let slot = self.policies.entry(policy.to_string()).or_default();
        *slot = slot.saturating_add(sum);
        if share.huge {
            self.huge_bytes = self.huge_bytes.saturating_add(sum);
        }
    }

    fn keep(&mut self, object: Object, share: &Share) {
        if self.shared.len() >= MOST_SHARED && !self.shared.contains_key(&object) {
            return;
        }
        let kept =
            self.shared.entry(object).or_insert_with(|| Share { nodes: BTreeMap::new(), ..share.clone() });
        for (node, bytes) in &share.nodes {
            let slot = kept.nodes.entry(*node).or_default();
            *slot = slot.saturating_add(*bytes);
        }
    }

    /// All bytes.
    pub fn total_bytes(&self) -> u64 {
        self.nodes.values().fold(0, |sum, bytes| sum.saturating_add(*bytes))
    }

    /// The memory of several processes together. What they share (libraries, shared memory, what a master handed down
    /// to its workers) counts once for each node: as much as the process has that maps most of it.
    ///
    /// So pages that one process maps and another does not may be left out; private pages are exact.
    pub fn together(all: &[&NumaMemory]) -> NumaMemory {
        let mut sum = NumaMemory::default();
        let mut most: BTreeMap<&Object, Share> = BTreeMap::new();
        for memory in all {
            let mut private = (*memory).clone();
            for (object, share) in &memory.shared {
                private.take_out(share);
                let held =
                    most.entry(object).or_insert_with(|| Share { nodes: BTreeMap::new(), ..share.clone() });
                for (node, bytes) in &share.nodes {
                    let slot = held.nodes.entry(*node).or_default();
                    *slot = (*slot).max(*bytes);
                }
            }
            sum.add_counts(&private);
        }
        most.values().for_each(|share| sum.count(share));
        sum
    }

    fn take_out(&mut self, share: &Share) {
        let sum: u64 = share.nodes.values().fold(0, |sum, bytes| sum.saturating_add(*bytes));
        for (node, bytes) in &share.nodes {
            self.nodes.entry(*node).and_modify(|slot| *slot = slot.saturating_sub(*bytes));
        }
        let policy = if self.policies.contains_key(&share.policy) { share.policy.as_str() } else { OTHERS };
        self.policies.entry(policy.to_string()).and_modify(|slot| *slot = slot.saturating_sub(sum));
        if share.huge {
            self.huge_bytes = self.huge_bytes.saturating_sub(sum);
        }
    }

    fn add_counts(&mut self, other: &NumaMemory) {
        for (node, bytes) in &other.nodes {
            let slot = self.nodes.entry(*node).or_default();
            *slot = slot.saturating_add(*bytes);
        }
        for (policy, bytes) in &other.policies {
            let slot = self.policies.entry(policy.clone()).or_default();
            *slot = slot.saturating_add(*bytes);
        }
        self.huge_bytes = self.huge_bytes.saturating_add(other.huge_bytes);
        self.mappings = self.mappings.saturating_add(other.mappings);
    }
}

impl Object {
    /// Names of deleted files and of memory without a file (`/dev/zero`, `/memfd:x`, `/SYSV...`) are used by many
    /// objects: the address distinguishes those, which children inherit.
    fn of(mapping: &Mapping<'_>) -> Self {
        match mapping.file {
            Some(file) if !file.ends_with("(deleted)") => Self { file: file.to_string(), start: 0 },
            other => Self { file: other.unwrap_or_default().to_string(), start: mapping.start },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cause, Tree};

    /// Two nodes and every policy; one mapping of 2 MiB pages.
    pub(crate) const TWO_NODES: &str = "\
        55d000000000 default file=/usr/sbin/x mapped=100 mapmax=2 N0=100 kernelpagesize_kB=4\n\
        55d000100000 default heap anon=256 dirty=256 N0=192 N1=64 kernelpagesize_kB=4\n\
        7f0000000000 bind:0-1 anon=512 dirty=512 N0=256 N1=256 kernelpagesize_kB=4\n\
        7f0100000000 interleave:0-1 file=/anon_hugepage\\040(deleted) huge anon=4 dirty=4 N0=2 N1=2 kernelpagesize_kB=2048\n\
        7f0200000000 prefer:1 anon=10 dirty=10 N1=10 kernelpagesize_kB=4\n\
        7f0300000000 prefer (many):0-1 anon=10 dirty=10 N1=10 kernelpagesize_kB=4\n\
        7f0400000000 weighted interleave:0-1 anon=10 dirty=10 N0=10 kernelpagesize_kB=4\n\
        7f0500000000 local anon=6 dirty=6 N0=6 kernelpagesize_kB=4\n\
        7ffc00000000 default stack anon=3 dirty=3 N1=3 kernelpagesize_kB=4\n\
        7ffc00100000 default\n";

    #[test]
    fn nodes_policies_and_huge_pages_are_summed_in_bytes() {
        let memory = NumaMemory::parse(TWO_NODES, None).unwrap();
        let page = 4096;
        assert_eq!(memory.nodes[&0], (100 + 192 + 256 + 10 + 6) * page + 2 * (2 << 20));
        assert_eq!(memory.nodes[&1], (64 + 256 + 10 + 10 + 3) * page + 2 * (2 << 20));
        assert_eq!(memory.policies["default"], (100 + 256 + 3) * page);
        assert_eq!(memory.policies["bind:0-1"], 512 * page);
        assert_eq!(memory.policies["interleave:0-1"], 4 * (2 << 20));
        assert_eq!(memory.policies["prefer (many):0-1"], 10 * page);
        assert_eq!(memory.policies.values().sum::<u64>(), memory.total_bytes());
        assert_eq!((memory.huge_bytes, memory.mappings), (4 * (2 << 20), 10));
    }

    #[test]
    fn what_processes_share_counts_once() {
        let master = "1000 default file=/usr/sbin/x mapped=100 mapmax=3 N0=100 kernelpagesize_kB=4\n\
            2000 default anon=50 mapmax=3 N0=50 kernelpagesize_kB=4\n\
            3000 default file=/dev/zero\\040(deleted) dirty=80 mapmax=3 N0=80 kernelpagesize_kB=4\n";
        let worker = "5000 default file=/usr/sbin/x mapped=120 mapmax=3 N0=120 kernelpagesize_kB=4\n\
            2000 default anon=50 mapmax=3 N0=50 kernelpagesize_kB=4\n\
            3000 default file=/dev/zero\\040(deleted) dirty=80 mapmax=3 N0=80 kernelpagesize_kB=4\n\
            9000 default anon=7 dirty=7 N1=7 kernelpagesize_kB=4\n";
        let of = |text| NumaMemory::parse(text, None).unwrap();
        let (master, worker) = (of(master), of(worker));
        let sum = NumaMemory::together(&[&master, &worker, &worker]);
        assert_eq!(sum.nodes, BTreeMap::from([(0, (120 + 50 + 80) * 4096), (1, 14 * 4096)]));
        assert_eq!(sum.policies["default"], sum.total_bytes());
        assert_eq!(NumaMemory::together(&[&master]).nodes, master.nodes);
    }

    #[test]
    fn an_old_kernel_does_not_report_the_size_of_pages() {
        let line = "1000 default anon=3 N0=3\n";
        assert_eq!(NumaMemory::parse(line, Some(65536)).unwrap().nodes[&0], 3 * 65536);
        assert!(NumaMemory::parse(line, None).is_err());
        assert!(NumaMemory::parse("1000 default huge anon=3 N0=3\n", Some(4096)).is_err());
    }

    #[test]
    fn absent_denied_and_malformed_stay_apart() {
        let of = |tree: Tree| NumaMemory::read(&Root::from_tree(tree), 7).unwrap_err();
        let without_numa = of(Tree::new().file("/proc/7/stat", ""));
        assert!(without_numa.is_absent() && without_numa.why.contains("CONFIG_NUMA"), "{without_numa}");
        assert!(of(Tree::new()).is_absent());
        assert!(of(Tree::new().denied("/proc/7/numa_maps")).is_denied());
        let torn = of(Tree::new().file("/proc/7/numa_maps", "1000 default\n1000\n"));
        assert!(torn.kind == Cause::Malformed && torn.why.contains("line 2"), "{torn}");
    }

    #[test]
    fn names_without_end_do_not_fill_memory() {
        let line = |n: usize| format!("{n:x}000 bind:{n} file=/f{n} mapmax=2 N0=1 kernelpagesize_kB=4\n");
        let memory = NumaMemory::parse(&(0..10_000).map(line).collect::<String>(), None).unwrap();
        assert_eq!((memory.policies.len(), memory.shared.len()), (MOST_POLICIES + 1, MOST_SHARED));
        assert_eq!(memory.total_bytes(), 10_000 * 4096);
        let twice = NumaMemory::together(&[&memory, &memory]);
        assert_eq!(twice.total_bytes(), (10_000 * 2 - MOST_SHARED as u64) * 4096);
        assert_eq!(twice.policies.values().sum::<u64>(), twice.total_bytes());
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "([0-9a-f]{1,6} (default|bind:0)( N[0-9]{1,3}=[0-9]{1,20}| huge| mapmax=2| kernelpagesize_kB=[0-9]{1,20})*\n){0,6}.{0,9}") {
            if let Ok(memory) = NumaMemory::parse(&text, Some(4096)) {
                let _ = NumaMemory::together(&[&memory, &memory]);
            }
        }
    }
}
