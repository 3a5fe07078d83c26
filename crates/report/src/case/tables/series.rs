//! One row an interval of the load: how much was completed, and how long it took.

use std::collections::BTreeMap;

use load::latency::Latency;
use load::{Interval, Outcome};

use super::of_trial::OfTrial;
use crate::account::account_tables::{Cell, word};

/// The latencies of an interval, us.
const LATENCIES_US: [&str; 5] =
    ["latency_p50_us", "latency_p90_us", "latency_p99_us", "latency_p999_us", "latency_max_us"];

pub(super) fn rows(of: &OfTrial<'_>, outcome: &Outcome) -> Vec<Vec<Cell>> {
    outcome.intervals.iter().map(|interval| row(of, outcome, interval)).collect()
}

pub(super) fn row(of: &OfTrial<'_>, outcome: &Outcome, interval: &Interval) -> Vec<Cell> {
    let Interval { from_ns, to_ns, completed, failed, latency } = interval;
    let length_ns = to_ns.saturating_sub(*from_ns);
    let per_s = (length_ns > 0).then(|| *completed as f64 * 1e9 / length_ns as f64);
    let since_load_s = from_ns.checked_sub(outcome.from_ns).map(|ns| ns as f64 / 1e9);
    let is_in_window = *from_ns >= of.trial.from_ns && *to_ns <= of.trial.to_ns;
    let mut cells = of.before([
        Cell::whole("from_monotonic_ns", *from_ns),
        Cell::whole("to_monotonic_ns", *to_ns),
        Cell::whole("interval_ns", length_ns),
        Cell::real("since_load_s", since_load_s),
        Cell::truth("in_window", is_in_window),
        Cell::text("counts", word(outcome.counted)),
        Cell::whole("completed_count", *completed),
        Cell::whole("failed_count", *failed),
        Cell::real("completed_per_s", per_s),
    ]);
    // An interval in which nothing was completed has none.
    let known: BTreeMap<String, f64> =
        Latency::from_text(latency).map(|all| all.figures()).unwrap_or_default();
    cells.extend(LATENCIES_US.map(|name| Cell::real(name, known.get(name).copied())));
    cells
}
