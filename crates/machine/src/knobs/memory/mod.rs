//! Where memory lies, and how it is written back, reclaimed and merged into huge pages.

pub mod cpuset_mems;
pub mod dirty_background_bytes;
pub mod dirty_background_ratio;
pub mod dirty_bytes;
pub mod dirty_expire;
pub mod dirty_ratio;
pub mod dirty_writeback;
pub mod huge_pages;
pub mod interleave_weight;
pub mod numa_balancing;
pub mod process_memory_nodes;
pub mod swappiness;
pub mod transparent_huge_pages;
pub mod transparent_huge_pages_defrag;
pub mod writeback_numa;
pub mod zone_reclaim;
