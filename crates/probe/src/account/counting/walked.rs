//! How often all tasks are walked over.

/// Of the time, walks take at most this part: one takes half a us for each task that there is, and tells what tasks count themselves
/// (page faults), and of threads whose state was lost what they do.
const PART: u64 = 50;

/// However long it takes, there is one a second.
const LONGEST_PAUSE_NS: u64 = 900_000_000;

/// The last walk over all tasks.
#[derive(Debug, Default)]
pub(super) struct Walked {
    /// CLOCK_MONOTONIC.
    pub(super) began_ns: u64,
    /// CPU time.
    pub(super) took_ns: u64,
}

impl Walked {
    /// Whether there may be another one at this time, CLOCK_MONOTONIC.
    pub(super) fn may_go_again(&self, now_ns: u64) -> bool {
        now_ns >= self.began_ns + (self.took_ns * PART).min(LONGEST_PAUSE_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_may_go_at_once_and_each_next_when_the_last_has_become_a_small_part() {
        assert!(Walked::default().may_go_again(0));
        let walked = Walked { began_ns: 1_000, took_ns: 2_000 };
        assert!(!walked.may_go_again(100_999));
        assert!(walked.may_go_again(101_000));
    }

    #[test]
    fn one_a_second_may_go_however_long_it_takes() {
        let walked = Walked { began_ns: 0, took_ns: 500_000_000 };
        assert!(!walked.may_go_again(899_999_999));
        assert!(walked.may_go_again(900_000_000));
    }
}
