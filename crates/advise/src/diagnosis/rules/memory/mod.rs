//! Memory that is short, far away, or moved about.

pub mod memory_node;
pub mod page_cache;
pub mod reclaim;
pub mod swap;

use super::Rule;

/// All of this field.
pub static ALL: &[&dyn Rule] =
    &[&swap::Swap, &reclaim::Reclaim, &page_cache::PageCache, &memory_node::MemoryNode];
