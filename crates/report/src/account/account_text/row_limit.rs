//! Tables of which not all rows are shown.

/// How many threads, tasks and functions are shown when not all are asked for.
pub(super) const SHOWN: usize = 12;

/// What was left out of a table.
pub(super) fn and_more(shown: usize, all: usize, what: &str) -> String {
    match all.saturating_sub(shown) {
        0 => String::new(),
        rest => format!("  and {rest} more {what} (--full)\n"),
    }
}
