//! A row of an account: a thread, a CPU, a line.

use std::collections::HashMap;
use std::hash::Hash;

/// What can be reported of one thing in an interval.
pub(in crate::account) trait Row: Clone {
    /// What distinguishes it from the others of its table.
    type Key: Ord + Hash;

    /// Which one it is.
    fn key(&self) -> Self::Key;

    /// What it has more than an earlier reading of the same; `None` when nothing happened.
    fn since(&self, before: Option<&Self>) -> Option<Self>;

    /// This row of an interval and that of the interval after it.
    fn then(&self, later: &Self) -> Self;

    /// What comes first in its table: the smallest.
    fn rank(&self) -> impl Ord + use<Self>;
}

/// A table in its order.
pub(in crate::account) fn sorted<R: Row>(mut rows: Vec<R>) -> Vec<R> {
    // Rows are long, and there can be tens of thousands: each is moved once.
    rows.sort_by_cached_key(Row::rank);
    rows
}

/// What a table has more than it had.
pub(super) fn since<R: Row>(now: &[R], earlier: &[R]) -> Vec<R> {
    let mut before = Before::of(earlier);
    sorted(now.iter().filter_map(|row| row.since(before.find(&row.key()))).collect())
}

/// The rows of an earlier reading.
struct Before<'a, R: Row> {
    rows: &'a [R],
    /// The place after the row that was found last: most tables are in the same order again.
    next: usize,
    /// Places by key, once they are needed.
    places: Option<HashMap<R::Key, usize>>,
}

impl<'a, R: Row> Before<'a, R> {
    fn of(rows: &'a [R]) -> Self {
        Self { rows, next: 0, places: None }
    }

    fn find(&mut self, key: &R::Key) -> Option<&'a R> {
        let rows = self.rows;
        if rows.get(self.next).is_none_or(|row| row.key() != *key) {
            let places = || rows.iter().enumerate().map(|(place, row)| (row.key(), place)).collect();
            self.next = *self.places.get_or_insert_with(places).get(key)?;
        }
        self.next += 1;
        rows.get(self.next - 1)
    }
}

/// Two counts together; `None` where one of them is not known.
pub(super) fn known_sum(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    Some(one?.saturating_add(other?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::time_account::Route;

    fn routes(times: &[(u32, u64)]) -> Vec<Route> {
        times.iter().map(|(from, times)| Route { from: *from, to: 0, times: *times }).collect()
    }

    #[test]
    fn a_row_is_found_wherever_it_was_before() {
        let earlier = routes(&[(1, 10), (2, 20), (3, 30), (4, 40)]);
        for now in [
            [(1, 11), (2, 22), (3, 33), (4, 44)],
            [(4, 44), (3, 33), (2, 22), (1, 11)],
            [(2, 22), (3, 33), (1, 11), (4, 44)],
        ] {
            assert_eq!(since(&routes(&now), &earlier), routes(&[(4, 4), (3, 3), (2, 2), (1, 1)]));
        }
        // One that is new, one that is gone, and one that stayed as it was.
        let now = routes(&[(2, 20), (7, 5), (1, 16), (4, 41)]);
        assert_eq!(since(&now, &earlier), routes(&[(1, 6), (7, 5), (4, 1)]));
        assert_eq!(since(&now, &[]), routes(&[(4, 41), (2, 20), (1, 16), (7, 5)]));
    }
}
