//! Guards: bounds on figures of a server in production, past which a trial ends at once.
//!
//! [`Guarding`] is shown what each slice of a trial saw, and answers with a [`Breach`] as soon as there is one. A trial that is looked at
//! ten times a second has many chances of a false alarm, so that a plain comparison of each slice would end every one of them sooner or
//! later. What is uncertain is therefore judged by a sequential test that holds however often and however long it is looked at
//! (`guard/evidence.rs`); what is certain - an error, where none is allowed - ends the trial in the slice in which it occurs.
//!
//! A guard never compares a rate of requests, which falls whenever the clients have nothing to ask: a lull is no harm.

mod breach;
mod check;
mod evidence;
mod guarding;
mod judge;
mod sequential;
mod share;
mod text;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

pub use self::breach::{Breach, Certainty};
pub use self::guarding::Guarding;
use crate::outcome::latency::Latency;

/// Chance with which a trial ends by a guard although its figures are within all of them, at most.
pub const FALSE_BREACH: f64 = 0.001;

/// A bound on a figure, written `latency_p99_us <= 20000`, `latency_p99_us <= 1.5 x baseline`, `cpu_us_per_request <= 1.3 x baseline` or
/// `errors == 0`.
#[derive(Debug, Clone, PartialEq)]
pub struct Guard {
    /// Name of the figure, which ends in its unit. What is done with it depends on the name:
    ///
    /// - `latency_p50_us`, `latency_p90_us`, `latency_p99_us`, `latency_p999_us`: how many requests take longer than the limit.
    /// - `latency_max_us`: not one request may take longer; only an absolute limit.
    /// - `errors`, `failed`, `*_errors`: counts. With an absolute limit, their sum over the trial; with the baseline, their share of the
    ///   requests.
    /// - `latency_mean_us`, `latency_wait_us`, `latency_service_us`, `cpu_us_per_request`: the mean over the requests.
    /// - `*_per_s`: only at most, and absolute: a rate follows the traffic. Rates of requests themselves are refused.
    /// - all others: the mean over time where at most is allowed, the median of the blocks of a tenth of a second where at least is.
    pub figure: String,
    /// How the figure compares to the limit where all is well.
    pub relation: Relation,
    /// The limit.
    pub limit: Limit,
}

/// How a figure within its guard compares to the limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Relation {
    /// `<=`
    AtMost,
    /// `>=`
    AtLeast,
    /// `==`, which only a count with the limit 0 has.
    Equal,
}

/// What a figure is compared to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Limit {
    /// This value, in the unit of the figure.
    Absolute(f64),
    /// So many times what the figure was in the adjacent baseline.
    OfBaseline(f64),
}

impl Guard {
    /// The guards of a study that names none: `latency_p99_us <= 2 x baseline`, `cpu_us_per_request <= 1.5 x baseline` and
    /// `errors <= baseline`, each where its figure is known.
    pub fn usual() -> Vec<Self> {
        [("latency_p99_us", 2.0), ("cpu_us_per_request", 1.5), ("errors", 1.0)]
            .map(|(figure, times)| Self {
                figure: figure.into(),
                relation: Relation::AtMost,
                limit: Limit::OfBaseline(times),
            })
            .into()
    }
}

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
}
