//! Memory beyond its size: free, huge pages, swap, tiers, caches in front of it, speed by node.

use machine::Machine;
use machine::topology::memory::HugePages;
use machine::topology::nodes::Node;

use super::quantities::size;
use crate::grid::{self, Side};

/// What is known of it; nothing on a machine of one node without huge pages and swap.
pub(super) fn section(machine: &Machine) -> String {
    let mut text = String::new();
    let memory = &machine.memory;
    let swap = memory.swap_total_bytes.filter(|total| *total > 0).map(|total| match memory.swap_free_bytes {
        Some(free) => format!("swap {}, {} in use", size(total), size(total.saturating_sub(free))),
        None => format!("swap {}", size(total)),
    });
    let words: Vec<String> = [
        memory.available_bytes.map(|bytes| format!("{} available", size(bytes))),
        pools(&memory.huge_pages),
        swap,
    ]
    .into_iter()
    .flatten()
    .collect();
    if !words.is_empty() {
        text.push_str(&format!("\nMemory  {}\n", words.join(", ")));
    }
    if machine.nodes.len() > 1 {
        text.push_str(&by_node(machine));
    }
    text
}

/// `16 huge pages of 2 MiB (4 free)`; nothing where none are set aside.
fn pools(pools: &[HugePages]) -> Option<String> {
    let known = pools.iter().filter_map(|pool| {
        let total = pool.total.filter(|total| *total > 0)?;
        let free = pool.free.map(|free| format!(" ({free} free)")).unwrap_or_default();
        Some(format!("{total} huge pages of {}{free}", size(pool.size_bytes)))
    });
    Some(known.collect::<Vec<_>>().join(", ")).filter(|text| !text.is_empty())
}

/// A row a node; columns that no node has are left out.
fn by_node(machine: &Machine) -> String {
    let tier = |node: &Node| {
        let tier = machine.memory.tiers.iter().find(|tier| tier.nodes.contains(node.id));
        tier.map(|tier| tier.id.to_string())
    };
    let side = |node: &Node| {
        let caches = node.side_caches.iter().map(|cache| cache.bytes.map_or("of unknown size".into(), size));
        Some(caches.collect::<Vec<_>>().join(", ")).filter(|text| !text.is_empty())
    };
    type Cell<'a> = Box<dyn Fn(&Node) -> Option<String> + 'a>;
    let columns: [(&str, Cell<'_>); 6] = [
        ("FREE", Box::new(|node| node.free_bytes.map(size))),
        ("HUGE PAGES", Box::new(|node| pools(&node.huge_pages))),
        ("TIER", Box::new(tier)),
        ("CACHE IN FRONT", Box::new(side)),
        ("READ MB/s", Box::new(|node| Some(node.access.first()?.read_bandwidth_mb_per_s?.to_string()))),
        ("READ ns", Box::new(|node| Some(node.access.first()?.read_latency_ns?.to_string()))),
    ];
    let known: Vec<&(&str, Cell<'_>)> =
        columns.iter().filter(|(_, cell)| machine.nodes.iter().any(|node| cell(node).is_some())).collect();
    if known.is_empty() {
        return String::new();
    }
    let head = std::iter::once("NODE").chain(known.iter().map(|(name, _)| *name));
    let mut rows = vec![head.map(String::from).collect::<Vec<_>>()];
    for node in &machine.nodes {
        let cells = known.iter().map(|(_, cell)| cell(node).unwrap_or_else(|| "-".into()));
        rows.push(std::iter::once(node.id.to_string()).chain(cells).collect());
    }
    grid::lines(&vec![Side::Right; known.len() + 1], &rows, 2)
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::topology::access::Access;
    use machine::topology::memory::{Memory, Tier};

    #[test]
    fn only_columns_that_some_node_has() {
        let node = |id, read| Node {
            id,
            free_bytes: Some(1 << 30),
            access: vec![Access { read_bandwidth_mb_per_s: read, ..Access::default() }],
            ..Node::default()
        };
        let memory = Memory {
            available_bytes: Some(3 << 30),
            swap_total_bytes: Some(2 << 30),
            swap_free_bytes: Some(1 << 30),
            huge_pages: vec![HugePages { size_bytes: 2 << 20, total: Some(16), free: Some(4) }],
            tiers: vec![Tier { id: 4, nodes: machine::CpuSet::single(0) }],
            ..Memory::default()
        };
        let machine =
            Machine { nodes: vec![node(0, Some(9000)), node(2, None)], memory, ..Machine::default() };
        assert_eq!(
            section(&machine),
            "\nMemory  3 GiB available, 16 huge pages of 2 MiB (4 free), swap 2 GiB, 1 GiB in use\n\
             \x20 NODE   FREE  TIER  READ MB/s\n\
             \x20    0  1 GiB     4       9000\n\
             \x20    2  1 GiB     -          -\n"
        );
        assert_eq!(section(&Machine::default()), "");
    }
}
