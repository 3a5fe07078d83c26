//! How the memory of a process is distributed over NUMA nodes, and how two readings of that compare.

use std::collections::BTreeMap;

use machine::CpuSet;

/// Bytes by node, as the ledger has them: inside a tagged enum, serde cannot read keys that are numbers.
pub type Bytes = [(u32, u64)];

fn total(bytes: &Bytes) -> u128 {
    bytes.iter().map(|(_, bytes)| u128::from(*bytes)).sum()
}

/// Share of the bytes that is on a node, in 1/10000.
fn share(bytes: &Bytes, node: u32) -> u128 {
    let there = bytes.iter().filter(|(at, _)| *at == node).map(|(_, bytes)| u128::from(*bytes));
    there.sum::<u128>() * 10_000 / total(bytes).max(1)
}

/// Whether no share differs by more than 1 %. A running process allocates and frees memory, so that they are never equal.
pub fn are_same(a: &Bytes, b: &Bytes) -> bool {
    let mut nodes = a.iter().chain(b).map(|(node, _)| *node);
    nodes.all(|node| share(a, node).abs_diff(share(b, node)) <= 100)
}

/// Bytes on these nodes, times 100.
fn on(bytes: &Bytes, nodes: &CpuSet) -> u128 {
    bytes.iter().filter(|(node, _)| nodes.contains(*node)).map(|(_, bytes)| u128::from(*bytes) * 100).sum()
}

/// Whether at least 99 % of the bytes are on these nodes: some pages cannot be moved.
pub fn lie_on(bytes: &Bytes, nodes: &CpuSet) -> bool {
    on(bytes, nodes) >= total(bytes) * 99
}

/// Whether most of the bytes are on these nodes.
pub fn lie_mostly_on(bytes: &Bytes, nodes: &CpuSet) -> bool {
    on(bytes, nodes) > total(bytes) * 50
}

/// `node 0: 512.0 MiB, node 1: 0.3 MiB`.
pub fn words(bytes: &Bytes) -> String {
    let word =
        |(node, bytes): &(u32, u64)| format!("node {node}: {:.1} MiB", *bytes as f64 / f64::from(1 << 20));
    bytes.iter().map(word).collect::<Vec<_>>().join(", ")
}

/// Bytes by node in the form of the ledger.
pub fn of(bytes: BTreeMap<u32, u64>) -> Vec<(u32, u64)> {
    bytes.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readings_compare_by_share() {
        assert!(are_same(&[(0, 1000), (1, 5)], &[(0, 5000)]));
        assert!(!are_same(&[(0, 100), (1, 3)], &[(0, 100)]));
        let node = CpuSet::single(1);
        assert!(lie_on(&[(0, 1), (1, 99)], &node) && !lie_on(&[(0, 2), (1, 98)], &node));
        assert!(lie_mostly_on(&[(0, 49), (1, 51)], &node) && !lie_mostly_on(&[(0, 1), (1, 1)], &node));
        assert_eq!(words(&[(0, 1 << 20), (3, 1 << 19)]), "node 0: 1.0 MiB, node 3: 0.5 MiB");
    }
}
