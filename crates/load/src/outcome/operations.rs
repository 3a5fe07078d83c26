//! Requests that are reported one by one: what was done when, and how long it took.

use std::collections::BTreeMap;
use std::fmt::Write;

use serde::{Deserialize, Serialize};

/// What an operation does to a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// A message goes in.
    Put,
    /// A message comes out.
    Get,
}

impl Kind {
    /// As tables and figures name it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Put => "put",
            Self::Get => "get",
        }
    }
}

/// Part of a sequence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Phase {
    /// The queue is filled.
    Fill,
    /// One in, one out, while it is full.
    Exchange,
    /// It is drained.
    Drain,
}

impl Phase {
    /// As tables name it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Fill => "fill",
            Self::Exchange => "exchange",
            Self::Drain => "drain",
        }
    }
}

/// One operation that was answered, and rightly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Operation {
    /// Its number in the sequence, from 0.
    pub number: u64,
    /// What it did.
    pub kind: Kind,
    /// In which part of the sequence.
    pub phase: Phase,
    /// When it began, us after the start of the run.
    pub begun_us: u64,
    /// How long it took, us.
    pub took_us: u64,
}

/// A line each, and a head.
pub(crate) fn csv(operations: &[Operation]) -> String {
    let mut text = "operation,kind,phase,begun_us,took_us\n".to_string();
    for Operation { number, kind, phase, begun_us, took_us } in operations {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "{number},{},{},{begun_us},{took_us}", kind.word(), phase.word());
    }
    text
}

/// Median, 99th percentile and maximum of each kind (`put_p50_us`, `get_max_us`), and `total_s` from the beginning of the first to
/// the end of the last. None where there are no operations.
pub(crate) fn figures(operations: &[Operation]) -> BTreeMap<String, f64> {
    let mut figures = BTreeMap::new();
    for kind in [Kind::Put, Kind::Get] {
        let mut took: Vec<u64> = operations.iter().filter(|o| o.kind == kind).map(|o| o.took_us).collect();
        took.sort_unstable();
        let Some(last) = took.len().checked_sub(1) else { continue };
        for (name, share) in [("p50", 0.5), ("p99", 0.99), ("max", 1.0)] {
            // The smallest time that so many operations did not exceed.
            let at = (share * took.len() as f64).ceil() as usize;
            figures.insert(format!("{}_{name}_us", kind.word()), took[at.clamp(1, last + 1) - 1] as f64);
        }
    }
    if let (Some(first), Some(last)) = (operations.first(), operations.last()) {
        let total_us = (last.begun_us + last.took_us).saturating_sub(first.begun_us);
        figures.insert("total_s".into(), total_us as f64 / 1e6);
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(number: u64, kind: Kind, took_us: u64) -> Operation {
        Operation { number, kind, phase: Phase::Fill, begun_us: 100 + number * 1000, took_us }
    }

    #[test]
    fn figures_are_of_each_kind_and_csv_has_a_line_an_operation() {
        let mut operations: Vec<Operation> = (0..100).map(|n| operation(n, Kind::Put, n + 1)).collect();
        operations.push(operation(100, Kind::Get, 700));
        let figures = figures(&operations);
        assert_eq!(
            (figures["put_p50_us"], figures["put_p99_us"], figures["put_max_us"]),
            (50.0, 99.0, 100.0)
        );
        assert_eq!((figures["get_p50_us"], figures["get_max_us"]), (700.0, 700.0));
        assert_eq!(figures["total_s"], (100_000.0 + 700.0) / 1e6);
        let csv = csv(&operations[99..]);
        assert_eq!(
            csv,
            "operation,kind,phase,begun_us,took_us\n99,put,fill,99100,100\n100,get,fill,100100,700\n"
        );
    }

    #[test]
    fn no_operations_have_no_figures() {
        assert!(figures(&[]).is_empty());
        assert!(!figures(&[operation(0, Kind::Put, 5)]).contains_key("get_p50_us"));
    }
}
