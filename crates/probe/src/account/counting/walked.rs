//! How often all tasks are walked over.

/// Of the time, walks take at most this part: one takes half a us or more for each task that there is, and only what tasks count
/// themselves (page faults) is not known without it.
const PART: u64 = 50;

/// The last walk over all tasks, CLOCK_MONOTONIC ns.
#[derive(Debug, Default)]
pub(super) struct Walked {
    pub(super) from_ns: u64,
    pub(super) to_ns: u64,
}

impl Walked {
    /// Whether there may be another one.
    pub(super) fn may_go_again(&self, now_ns: u64) -> bool {
        now_ns >= self.from_ns + (self.to_ns - self.from_ns) * PART
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_may_go_at_once_and_each_next_when_the_last_has_become_a_small_part() {
        assert!(Walked::default().may_go_again(0));
        let walked = Walked { from_ns: 1_000, to_ns: 3_000 };
        assert!(!walked.may_go_again(100_999));
        assert!(walked.may_go_again(101_000));
    }
}
