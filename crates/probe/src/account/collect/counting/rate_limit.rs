//! How often dear work is done.

/// However long it takes, it is done once a second, also by readings that come a little late.
const LONGEST_PAUSE_NS: u64 = 700_000_000;

/// Work that takes about a part of the time, by the shorter of its last two times, but is done once a second in any case.
#[derive(Debug)]
pub(super) struct Pace {
    /// One in so many ns may go into it.
    part: u64,
    /// When it was begun last, CLOCK_MONOTONIC.
    began_ns: u64,
    /// CPU time that it took then, and the time before: one of them may have met cold caches, or a host that was busy.
    took_ns: [Option<u64>; 2],
}

impl Pace {
    /// For work that was not done yet, and may take one in so many ns.
    pub(super) fn one_in(part: u64) -> Self {
        Self { part, began_ns: 0, took_ns: [None; 2] }
    }

    /// Whether it may be done again at this time, CLOCK_MONOTONIC.
    pub(super) fn may_go_again(&self, now_ns: u64) -> bool {
        now_ns >= self.began_ns + self.pause_ns()
    }

    /// It was done.
    pub(super) fn went(&mut self, began_ns: u64, took_ns: u64) {
        let [before_ns, _] = self.took_ns;
        (self.began_ns, self.took_ns) = (began_ns, [Some(took_ns), before_ns]);
    }

    /// When it was begun last, CLOCK_MONOTONIC ns; 0 where it was not done yet.
    pub(super) fn began_ns(&self) -> u64 {
        self.began_ns
    }

    /// How long after it was begun last it may be done again, ns. The first time, which meets memory that nobody used yet, says nothing.
    fn pause_ns(&self) -> u64 {
        let [last_ns, before_ns] = self.took_ns;
        let took_ns = last_ns.zip(before_ns).map_or(0, |(last_ns, before_ns)| last_ns.min(before_ns));
        took_ns.saturating_mul(self.part).min(LONGEST_PAUSE_NS)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_two_may_go_at_once_and_each_next_when_the_last_has_become_a_small_part() {
        let mut pace = Pace::one_in(50);
        assert!(pace.may_go_again(0));
        pace.went(100, 2_000);
        assert!(pace.may_go_again(100));
        pace.went(1_000, 2_000);
        assert!(!pace.may_go_again(100_999));
        assert!(pace.may_go_again(101_000));
    }

    #[test]
    fn one_that_took_long_once_is_not_held_against_it() {
        let mut pace = Pace::one_in(50);
        pace.went(1_000, 90_000);
        pace.went(2_000, 2_000);
        assert_eq!(pace.pause_ns(), 100_000);
        pace.went(200_000, 90_000);
        assert_eq!(pace.pause_ns(), 100_000);
        pace.went(400_000, 80_000);
        assert_eq!(pace.pause_ns(), 4_000_000);
    }

    #[test]
    fn one_a_second_may_go_however_long_it_takes() {
        let mut pace = Pace::one_in(50);
        (0..2).for_each(|_| pace.went(0, 500_000_000));
        assert!(!pace.may_go_again(699_999_999));
        assert!(pace.may_go_again(700_000_000));
    }
}
