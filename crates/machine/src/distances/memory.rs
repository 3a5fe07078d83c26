//! Distances from node to node.

use serde::{Deserialize, Serialize};

use super::Estimate;
use crate::CpuSet;

/// From node to node.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct MemoryDistances {
    /// Rounds; in each every cell was measured once, in an order of its own.
    pub rounds: usize,
    /// What the order was drawn from.
    pub seed: u64,
    /// How long each figure of a cell was measured in each round, us.
    pub block_us: f64,
    /// From each node with CPUs to each with memory.
    pub cells: Vec<MemoryCell>,
}

/// The memory of one node from the CPUs of one node.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct MemoryCell {
    /// Node of the CPUs.
    pub from: u32,
    /// Node of the memory.
    pub memory: u32,
    /// The CPUs that were used, all of them for the bandwidth.
    pub cpus: CpuSet,
    /// One load that waits for the one before it, in random order, one a cache line, ns.
    pub latency_ns: Option<Estimate>,
    /// Reading in order with all CPUs, each line once, MB/s (10^6 bytes).
    pub read_mb_per_s: Option<Estimate>,
    /// Writing in order with all CPUs, MB/s; what caches read before they write does not count.
    pub write_mb_per_s: Option<Estimate>,
    /// Memory that latency was measured on.
    pub latency_buffer: Buffer,
    /// Memory that bandwidth was measured on.
    pub bandwidth_buffer: Buffer,
}

/// Memory that was measured on.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Buffer {
    /// Size, bytes.
    pub bytes: u64,
    /// How many times as large it is as the last-level caches of the CPUs that use it; `None` where their size is not known.
    pub times_caches: Option<f64>,
    /// How much of it lies in huge pages, bytes; `None` where that could not be read. In small pages, misses of the TLB are in
    /// the latency.
    pub huge_bytes: Option<u64>,
    /// Pages whose node the kernel was asked for; 0 where it does not answer.
    pub pages_checked: u64,
    /// How many of them lie on the node.
    pub pages_there: u64,
}
