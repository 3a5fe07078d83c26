//! What all requests of the arms together say of one quantile of latency.

use machine::Missing;
use serde::{Deserialize, Serialize};

use crate::recipe::Direction;

/// What all requests together say of one quantile.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Pooled {
    /// The figure: `latency_p99_us`.
    pub metric: String,
    /// Its quantile, 0 to 1.
    pub quantile: f64,
    /// Which way is better.
    pub better: Direction,
    /// How it was computed.
    pub method: String,
    /// Share of intervals that hold the truth, as far as a bootstrap does (docs/statistics.md). Not adjusted for how many there are.
    pub level: f64,
    /// How many samples of blocks were drawn.
    pub samples: usize,
    /// The seed that repeats them.
    pub seed: u64,
    /// Blocks in which the latencies of all trials are known.
    pub blocks: usize,
    /// Every candidate against the baseline (both its runs). It decides nothing.
    pub against_baseline: Vec<PooledRatio>,
    /// What is not known, and why.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<Missing>,
}

/// One arm against the baseline.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PooledRatio {
    /// The arm.
    pub arm: String,
    /// What it is compared with.
    pub reference: String,
    /// Requests of the arm.
    pub requests: u64,
    /// Quantile over all of them, us.
    pub arm_us: f64,
    /// The same of the baseline, us.
    pub reference_us: f64,
    /// The one divided by the other.
    pub ratio: f64,
    /// Its interval; `None` where none can be given, see `missing`.
    pub interval: Option<(f64, f64)>,
}
