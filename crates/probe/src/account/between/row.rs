//! A row of an account: a thread, a CPU, a line.

use std::collections::BTreeMap;

/// What can be told of one thing in an interval.
pub(in crate::account) trait Row: Clone {
    /// What tells it from the others of its table.
    type Key: Ord;

    /// Which one it is.
    fn key(&self) -> Self::Key;

    /// What it has more than an earlier reading of the same; `None` when there is nothing to tell.
    fn since(&self, before: Option<&Self>) -> Option<Self>;

    /// This row of an interval and that of the interval after it.
    fn then(&self, later: &Self) -> Self;

    /// What comes first in its table: the smallest.
    fn rank(&self) -> impl Ord;
}

/// A table in its order.
pub(in crate::account) fn sorted<R: Row>(mut rows: Vec<R>) -> Vec<R> {
    rows.sort_by(|one, other| one.rank().cmp(&other.rank()));
    rows
}

/// What a table has more than it had.
pub(super) fn since<R: Row>(now: &[R], earlier: &[R]) -> Vec<R> {
    let before: BTreeMap<R::Key, &R> = earlier.iter().map(|row| (row.key(), row)).collect();
    sorted(now.iter().filter_map(|row| row.since(before.get(&row.key()).copied())).collect())
}
