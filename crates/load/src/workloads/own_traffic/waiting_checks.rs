//! When pinwise looks which requests wait for their answer.

use probe::requests::{CountingRequests, Waiting};

use crate::clock::monotonic_ns;

/// A check is followed by a pause of so many times its length: they take 2 % of the time of one CPU at most, whatever the number of
/// connections.
const PAUSE: u64 = 49;

/// Checks at the ends of slices.
#[derive(Default)]
pub(super) struct WaitingChecks {
    /// When the next one is due, CLOCK_MONOTONIC ns.
    next_ns: u64,
}

impl WaitingChecks {
    /// What waits, where a check is due; call it as [`CountingRequests::check`] is.
    pub(super) fn look(&mut self, counting: &mut CountingRequests) -> Option<Waiting> {
        let began_ns = monotonic_ns();
        if began_ns < self.next_ns {
            return None;
        }
        let waiting = counting.check();
        self.took(began_ns, monotonic_ns());
        Some(waiting)
    }

    fn took(&mut self, began_ns: u64, ended_ns: u64) {
        let length_ns = ended_ns.saturating_sub(began_ns);
        self.next_ns = ended_ns.saturating_add(length_ns.saturating_mul(PAUSE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checks_that_take_long_are_rare() {
        let mut checks = WaitingChecks::default();
        checks.took(1_000, 1_010);
        assert_eq!(checks.next_ns, 1_010 + 490);
        checks.took(1_000, 50_001_000);
        assert_eq!(checks.next_ns, 50_001_000 + 49 * 50_000_000);
        checks.took(0, u64::MAX);
        assert_eq!(checks.next_ns, u64::MAX);
    }
}
