//! Tables of which not all rows are shown.

use machine::wording::counted;

/// How many threads, tasks and functions are shown when not all are asked for.
pub(super) const SHOWN: usize = 12;

/// What was left out of a table, by the name of one of its rows.
pub(super) fn and_more(shown: usize, all: usize, noun: &str) -> String {
    left_out(shown, all, noun, "")
}

/// The same of a table with rows by CPU.
pub(super) fn and_more_by_cpu(shown: usize, all: usize, noun: &str) -> String {
    left_out(shown, all, noun, " on other CPUs")
}

fn left_out(shown: usize, all: usize, noun: &str, place: &str) -> String {
    match all.saturating_sub(shown) {
        0 => String::new(),
        rest => format!("  and {}{place} (--full)\n", counted(rest, &format!("more {noun}"))),
    }
}
