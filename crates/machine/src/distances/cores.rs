//! Distances from CPU to CPU.

use serde::{Deserialize, Serialize};

use super::{Estimate, Relation};

/// From CPU to CPU.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CoreDistances {
    /// The CPUs, neighbours beside each other: by package, node, last-level cache, core.
    pub cpus: Vec<u32>,
    /// Rounds; in each every pair was measured once, in an order of its own.
    pub rounds: usize,
    /// What the order was drawn from.
    pub seed: u64,
    /// How long a pair was measured in each round, us.
    pub block_us: f64,
    /// Round trips that one reading of the clock stands for.
    pub round_trips_a_batch: u32,
    /// Every pair in both directions.
    pub pairs: Vec<CorePair>,
    /// The pairs by how near they are, the nearest first.
    pub groups: Vec<CoreGroup>,
}

/// One CPU asks, another answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CorePair {
    /// The CPU that asks; the line lies in its memory.
    pub from: u32,
    /// The CPU that answers.
    pub to: u32,
    /// How near they are.
    pub relation: Relation,
    /// One way, half of a round trip, ns.
    pub ns: Estimate,
    /// Batches of round trips that were timed, and how many of them took more than twice the median of theirs: a thread had lost
    /// its CPU, or the host took it. They are in the median as the others are.
    pub batches: u64,
    /// See `batches`.
    pub slow_batches: u64,
    /// Why this pair says less than it seems to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unsure: Option<String>,
}

/// Pairs that are equally near.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CoreGroup {
    /// How near.
    pub relation: Relation,
    /// How many pairs, each direction counted.
    pub pairs: usize,
    /// One way, ns: the median over the pairs in each round, over the rounds.
    pub ns: Estimate,
    /// The lowest median of a pair, ns.
    pub lowest_ns: f64,
    /// The highest.
    pub highest_ns: f64,
}
