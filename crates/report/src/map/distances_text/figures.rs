//! Figures of a measurement, as tables and the map show them.

use machine::distances::Estimate;

use crate::number;

/// `52.1 [51.8, 52.9]`.
pub(super) fn with_interval(estimate: &Estimate) -> String {
    match estimate.interval {
        Some((low, high)) => format!("{} [{}, {}]", figure(estimate.median), figure(low), figure(high)),
        None => format!("{} [no interval]", figure(estimate.median)),
    }
}

/// A figure with as many digits as it deserves in a table.
pub(super) fn figure(value: f64) -> String {
    let decimals = match value.abs() {
        size if size < 100.0 => 1,
        _ => 0,
    };
    number::grouped(value, decimals)
}
