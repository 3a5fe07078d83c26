//! One row a trial and latency: the histogram of the measured window.

use load::Outcome;

use super::of_trial::OfTrial;
use crate::account::account_tables::Cell;

/// None where the load reports no latencies, or a histogram cannot be read.
pub(super) fn rows(of: &OfTrial<'_>, outcome: &Outcome) -> Vec<Vec<Cell>> {
    let latency = outcome.latency(of.trial.from_ns, of.trial.to_ns);
    let counts = latency.map(|latency| latency.counts()).unwrap_or_default();
    counts.into_iter().map(|count| row(of, count)).collect()
}

/// A latency, us, and how often it was counted.
pub(super) fn row(of: &OfTrial<'_>, (latency_us, count): (u64, u64)) -> Vec<Cell> {
    of.before([Cell::whole("latency_us", latency_us), Cell::whole("latency_count", count)])
}
