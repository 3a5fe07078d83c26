//! NUMA nodes: their CPUs, memory and distances.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::access::{self, Access, MemorySideCache};
use super::cpus::Cpu;
use super::memory::{self, HugePages};
use super::{CPUS, NODES, numbered};
use crate::{CpuSet, FactId, Missing, Notes, ReadError, Root};

/// One NUMA node that is online. It may have no CPUs (CXL, HBM, GPU memory) or no memory.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Node {
    /// Number; numbers may have holes.
    pub id: u32,
    /// Its online CPUs, as the kernel says: by wrong tables of the firmware several nodes may have the same. Empty for a node of memory
    /// only.
    pub cpus: CpuSet,
    /// Memory that the kernel manages, bytes (`MemTotal`); 0 for a node without memory.
    pub memory_bytes: Option<u64>,
    /// The firmware's distance to each online node, 10 for itself (ACPI SLIT).
    pub distances: BTreeMap<u32, u32>,
    /// Memory that is not used for anything, bytes (`MemFree`).
    pub free_bytes: Option<u64>,
    /// Pages set aside on it, by size.
    pub huge_pages: Vec<HugePages>,
    /// How fast its memory is (ACPI HMAT); empty where the firmware does not report it.
    pub access: Vec<Access>,
    /// Caches in front of its memory.
    pub side_caches: Vec<MemorySideCache>,
}

/// Reads the nodes that are online and gives each CPU its node.
pub(crate) fn read(root: &Root, online: &CpuSet, cpus: &mut [Cpu], notes: &mut Notes) -> Vec<Node> {
    let names = match root.list(NODES) {
        Ok(names) => names,
        Err(e) => {
            let why = format!("{e} (a kernel without CONFIG_NUMA treats all memory as equally near)");
            notes.add(Missing::new("NUMA nodes", why).identified(FactId::Nodes));
            return Vec::new();
        }
    };
    let folders = numbered(&names, "node");
    let ids = root.cpu_list(format!("{NODES}/online")).unwrap_or_else(|_| folders.clone());
    let nodes: Vec<Node> = ids.iter().map(|id| one(root, id, &ids, online, notes)).collect();
    give_each_cpu_its_node(root, &nodes, cpus, notes);
    nodes
}

fn one(root: &Root, id: u32, ids: &CpuSet, online: &CpuSet, notes: &mut Notes) -> Node {
    let dir = format!("{NODES}/node{id}");
    let cpus = root.cpu_set(&dir, &["cpulist"], &["cpumap"]);
    let meminfo = root.read(format!("{dir}/meminfo"));
    let free_bytes = meminfo.as_ref().ok().and_then(|text| memory::parse_meminfo(text).remove("MemFree"));
    let memory = meminfo.and_then(|text| {
        mem_total_bytes(&text).map_err(|why| ReadError::malformed(format!("{dir}/meminfo"), why))
    });
    let distances = root.read(format!("{dir}/distance")).and_then(|text| {
        parse_distances(&text, ids).map_err(|why| ReadError::malformed(format!("{dir}/distance"), why))
    });
    let unread = |why: ReadError| {
        let fact = format!("CPUs of node {id}");
        notes.add(Missing::new(fact, why).identified(FactId::CpusOfNode(id)));
        CpuSet::default()
    };
    Node {
        id,
        cpus: cpus.unwrap_or_else(unread).intersection(online),
        memory_bytes: notes.keep(format!("memory of node {id}"), memory),
        distances: notes.keep(format!("distances of node {id}"), distances).unwrap_or_default(),
        free_bytes,
        huge_pages: memory::huge_pages(root, &format!("{dir}/hugepages"), notes),
        access: access::classes(root, id, notes),
        side_caches: access::side_caches(root, id),
    }
}

/// The `MemTotal` of a meminfo file, with or without `Node N` before it, bytes.
pub(crate) fn mem_total_bytes(text: &str) -> Result<u64, String> {
    let line = text.lines().find(|line| line.contains("MemTotal:")).ok_or("it has no line MemTotal")?;
    let value = line.split("MemTotal:").nth(1).unwrap_or_default().trim();
    let kib = value.strip_suffix("kB").ok_or_else(|| format!("MemTotal '{value}' is not in kB"))?.trim();
    let kib: u64 = kib.parse().map_err(|e| format!("MemTotal '{kib}': {e}"))?;
    kib.checked_mul(1024).ok_or_else(|| format!("MemTotal {kib} kB is too large"))
}

/// The columns of a distance file stand for the *online* nodes in rising order, whatever their numbers are.
fn parse_distances(text: &str, ids: &CpuSet) -> Result<BTreeMap<u32, u32>, String> {
    let numbers: Result<Vec<u32>, String> =
        text.split_whitespace().map(|n| n.parse().map_err(|e| format!("'{n}': {e}"))).collect();
    let numbers = numbers?;
    if numbers.len() != ids.len() {
        return Err(format!(
            "it has {} columns for {} online nodes, so nobody can tell which is which",
            numbers.len(),
            ids.len()
        ));
    }
    Ok(ids.iter().zip(numbers).collect())
}

/// A CPU belongs to the node that claims it. Where several do, the link in its own folder decides: the kernel makes it of the node from
/// which it gives the CPU memory (register_cpu_under_node in drivers/base/node.c). Else its node is not known.
fn give_each_cpu_its_node(root: &Root, nodes: &[Node], cpus: &mut [Cpu], notes: &mut Notes) {
    let (mut contested, mut decided, mut unclaimed) = (CpuSet::new(), CpuSet::new(), CpuSet::new());
    for cpu in cpus.iter_mut() {
        let claims: CpuSet =
            nodes.iter().filter(|node| node.cpus.contains(cpu.id)).map(|node| node.id).collect();
        match claims.len() {
            1 => cpu.node = claims.first(),
            0 if cpu.online => drop(unclaimed.insert(cpu.id)),
            0 => cpu.node = node_of_folder(root, cpu.id).filter(|id| nodes.iter().any(|n| n.id == *id)),
            _ => {
                cpu.node = only_node_of_folder(root, cpu.id).filter(|id| claims.contains(*id));
                let set = if cpu.node.is_some() { &mut decided } else { &mut contested };
                set.insert(cpu.id);
            }
        }
    }
    if !decided.is_empty() {
        let why = format!(
            "several nodes claim them in {NODES}/node*/cpulist: the firmware's tables are wrong; the node of each is that of the \
             link {CPUS}/cpu*/node*"
        );
        notes.missing(format!("undisputed node of CPUs {decided}"), why);
    }
    if !contested.is_empty() {
        let why = format!(
            "several nodes claim them in {NODES}/node*/cpulist, and no link {CPUS}/cpu*/node* decides: the firmware's tables are wrong"
        );
        notes.add(Missing::new(format!("node of CPUs {contested}"), why).identified(FactId::NodeOfCpus));
    }
    if let Some(first) = unclaimed.first() {
        let why = match node_of_folder(root, first) {
            Some(node) => format!("{CPUS}/cpu{first}/node{node}: node {node} is not online"),
            None => format!("no {NODES}/node*/cpulist names them"),
        };
        notes.add(Missing::new(format!("node of CPUs {unclaimed}"), why).identified(FactId::NodeOfCpus));
    }
}

/// The node by the link in the CPU's own folder, which offline CPUs have too.
fn node_of_folder(root: &Root, cpu: u32) -> Option<u32> {
    nodes_of_folder(root, cpu).first()
}

/// The same; `None` where there are links to several nodes.
fn only_node_of_folder(root: &Root, cpu: u32) -> Option<u32> {
    let nodes = nodes_of_folder(root, cpu);
    nodes.first().filter(|_| nodes.len() == 1)
}

fn nodes_of_folder(root: &Root, cpu: u32) -> CpuSet {
    numbered(&root.list(format!("{CPUS}/cpu{cpu}")).unwrap_or_default(), "node")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    fn with_node(tree: Tree, id: u32, cpus: &str, kib: u64, distance: &str) -> Tree {
        let dir = format!("{NODES}/node{id}");
        tree.file(&format!("{dir}/cpulist"), cpus)
            .file(
                &format!("{dir}/meminfo"),
                format!("Node {id} MemTotal: {kib} kB\nNode {id} MemFree: 1 kB\n"),
            )
            .file(&format!("{dir}/distance"), distance)
    }

    fn of(tree: Tree, count: u32) -> (Vec<Node>, Vec<Option<u32>>, Vec<Missing>) {
        let online: CpuSet = (0..count).collect();
        let mut cpus: Vec<Cpu> = online.iter().map(|id| Cpu { id, online: true, ..Cpu::default() }).collect();
        let mut notes = Notes::new();
        let nodes = read(&Root::from_tree(tree), &online, &mut cpus, &mut notes);
        (nodes, cpus.iter().map(|c| c.node).collect(), notes.into_vec())
    }

    #[test]
    fn sparse_memoryless_and_cpuless_nodes() {
        let tree = Tree::new().file(&format!("{NODES}/online"), "0,8,250\n");
        let tree = with_node(tree, 0, "0\n", 1024, "10 40 80\n");
        let tree = with_node(tree, 8, "1\n", 0, "40 10 80\n");
        let tree = with_node(tree, 250, "\n", 2048, "80 80 10\n");
        let (nodes, of_cpu, missing) = of(tree, 2);
        assert_eq!(nodes[0].distances, BTreeMap::from([(0, 10), (8, 40), (250, 80)]));
        assert_eq!(nodes[1].memory_bytes, Some(0));
        assert!(nodes[2].cpus.is_empty());
        assert_eq!(of_cpu, [Some(0), Some(8)]);
        assert_eq!(missing, []);
    }

    #[test]
    fn no_folder_means_missing_and_no_node_is_invented() {
        let (nodes, of_cpu, missing) = of(Tree::new(), 1);
        assert!(nodes.is_empty());
        assert_eq!(of_cpu, [None]);
        assert_eq!(missing[0].fact, "NUMA nodes");
    }

    #[test]
    fn distances_without_a_meaning_and_contested_cpus_are_missing() {
        let tree = with_node(Tree::new(), 0, "0-1", 1, "10 20 20");
        let tree = with_node(tree, 1, "1", 1, "x 10");
        let (nodes, of_cpu, missing) = of(tree, 3);
        assert!(nodes.iter().all(|n| n.distances.is_empty()));
        assert_eq!(of_cpu, [Some(0), None, None]);
        let facts: Vec<_> = missing.iter().map(|m| m.fact.as_str()).collect();
        assert_eq!(facts, ["distances of node 0", "distances of node 1", "node of CPUs 1", "node of CPUs 2"]);
        assert!(missing[0].why.contains("3 columns for 2 online nodes"), "{missing:?}");
    }

    #[test]
    fn of_several_nodes_that_claim_a_cpu_its_own_link_decides_and_else_none_is_known() {
        // 0 and 1 have a link to one of the claimants, 2 to a node that does not claim it, 3 to both, 4 none; 5 is claimed once.
        let tree = with_node(with_node(Tree::new(), 0, "0-5", 1, "10 20"), 1, "0-4", 1, "20 10");
        let links = [(0, 0), (1, 1), (2, 7), (3, 0), (3, 1), (5, 1)];
        let tree =
            links.iter().fold(tree, |tree, (cpu, node)| tree.dir(&format!("{CPUS}/cpu{cpu}/node{node}")));
        let (nodes, of_cpu, missing) = of(tree, 6);
        assert_eq!(of_cpu, [Some(0), Some(1), None, None, None, Some(0)]);
        assert_eq!(nodes[1].cpus.to_list(), "0-4", "the list stays what the kernel says");
        let facts: Vec<_> = missing.iter().map(|m| (m.fact.as_str(), m.id.is_some())).collect();
        assert_eq!(facts, [("undisputed node of CPUs 0-1", false), ("node of CPUs 2-4", true)]);
    }

    #[test]
    fn memory_in_other_words_is_refused() {
        assert_eq!(mem_total_bytes("MemTotal:  16 kB\n"), Ok(16384));
        for bad in ["", "MemTotal: 16 MB", "MemTotal: x kB", "MemTotal: 99999999999999999999 kB"] {
            assert!(mem_total_bytes(bad).is_err(), "{bad}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_a_parser_panic(text in "(?s).{0,60}") {
            let _ = mem_total_bytes(&text);
            let _ = mem_total_bytes(&format!("MemTotal:{text}"));
            let _ = parse_distances(&text, &CpuSet::single(0));
        }
    }
}
