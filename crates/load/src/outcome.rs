//! What a load generator says at the end of a run.

use std::collections::BTreeMap;

use machine::Missing;
use serde::{Deserialize, Serialize};

/// Work completed in one short interval of a run; the raw material of warm-up detection.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Interval {
    /// Start, CLOCK_MONOTONIC ns.
    pub from_ns: u64,
    /// End, CLOCK_MONOTONIC ns.
    pub to_ns: u64,
    /// Requests completed.
    pub completed: u64,
    /// Requests that failed (refused, reset, wrong answer).
    pub failed: u64,
    /// Latency from the intended send time, as a base64 HDR histogram (V2 serialisation, us, 3 digits).
    pub latency: String,
}

/// Whether the load generator had room left.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Headroom {
    /// Share of the load generator's busiest thread that was on CPU, 0 to 1.
    pub client_busy: Option<f64>,
    /// Share of the server's busiest thread that was on CPU, 0 to 1.
    pub server_busy: Option<f64>,
    /// True when the client was the limit (busy above 0.9 while the server was not); `None` when it cannot be told.
    pub client_limits: Option<bool>,
    /// The same in words, with the remedy.
    pub note: String,
}

/// The end of one run under load.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Outcome {
    /// Figures by name over the whole run: what a command printed, or the string load's own over the measured window.
    pub figures: BTreeMap<String, f64>,
    /// Units by figure name, where known: `requests/s`, `us`.
    pub units: BTreeMap<String, String>,
    /// Short intervals in order of time; empty when the load tool tells only its final figure.
    pub intervals: Vec<Interval>,
    /// When the load ran, CLOCK_MONOTONIC ns.
    pub from_ns: u64,
    /// When the load ended, CLOCK_MONOTONIC ns.
    pub to_ns: u64,
    /// The headroom check, where it could be made.
    pub headroom: Option<Headroom>,
    /// What could not be measured, and why.
    pub missing: Vec<Missing>,
}
