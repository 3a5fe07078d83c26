//! What one reading has found. Pure.

use super::histogram::Histogram;
use super::lines::Lines;

/// What one reading of a source has found for one figure. Two of them make the figure.
#[derive(Debug, Clone, PartialEq)]
pub struct Raw {
    /// When the source had answered, CLOCK_MONOTONIC ns.
    pub read_ns: u64,
    pub(super) content: Content,
}

/// What was found.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Content {
    /// One number.
    Number { value: f64, kind: Kind },
    /// A histogram.
    Histogram(Histogram),
    /// A summary.
    Summary(Summary),
    /// Lines of a log since reading began.
    Lines(Lines),
}

/// What a number is, as far as its source says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// It only grows.
    Counter,
    /// It goes up and down.
    Gauge,
    /// The source does not say.
    Unstated,
}

/// Quantiles that the server computed itself.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Summary {
    /// Shares and values.
    pub(super) quantiles: Vec<(f64, f64)>,
    /// How many observations since the server was started.
    pub(super) count: Option<f64>,
    /// Their sum.
    pub(super) sum: Option<f64>,
}

impl Raw {
    /// How long after `before` it was read, s; 0 where it was not.
    pub fn seconds_since(&self, before: &Self) -> f64 {
        self.read_ns.saturating_sub(before.read_ns) as f64 / 1e9
    }
}
