//! Memory that is short, far away, or moved around.

pub mod compaction;
pub mod memory_limit_near;
pub mod memory_node;
pub mod numa_balancing;
pub mod page_cache;
pub mod reclaim;
pub mod swap;

use super::Rule;

/// All of this field.
pub static ALL: &[&dyn Rule] = &[
    &swap::Swap,
    &reclaim::Reclaim,
    &memory_limit_near::MemoryLimitNear,
    &page_cache::PageCache,
    &compaction::Compaction,
    &memory_node::MemoryNode,
    &numa_balancing::NumaBalancing,
];
