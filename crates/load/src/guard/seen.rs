//! What guards are shown: slices of a trial, and the baseline beside it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::ages::Ages;
use crate::outcome::latency::Latency;
use crate::outcome::traffic::Noise;

/// What one slice of a trial saw.
pub struct Slice {
    /// Start, CLOCK_MONOTONIC ns.
    pub from_ns: u64,
    /// End, CLOCK_MONOTONIC ns.
    pub to_ns: u64,
    /// Requests that were answered.
    pub requests: u64,
    /// Their latencies.
    pub latency: Latency,
    /// The same by steps, with the requests that wait.
    pub ages: Ages,
    /// Other figures of the slice by name. Counts (`errors`) are how many there were in the slice, not their rate. A figure that is not
    /// known is not in it.
    pub figures: BTreeMap<String, f64>,
}

/// The figures of the adjacent baseline, from which `x baseline` is taken.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Reference {
    /// By name, over the whole of it: the latency figures of [`Latency::figures`], `cpu_us_per_request`, `requests_per_s` (by which a lull
    /// is known), and what else its guards compare. Counts (`errors`) are how many there were, not their rate.
    pub figures: BTreeMap<String, f64>,
    /// How many requests they are of.
    pub requests: u64,
    /// How exactly its means are known, by name.
    #[serde(default)]
    pub noise: BTreeMap<String, Noise>,
    /// Its requests by the time for which they went without an answer, of the whole trial; `None` where that was not looked at.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ages: Option<Ages>,
}
