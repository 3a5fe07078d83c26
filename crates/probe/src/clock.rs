//! The clocks that samples are stamped with.

use std::time::Duration;

use rustix::io::Errno;
use rustix::thread::clock_nanosleep_absolute;
use rustix::time::{ClockId, Timespec, clock_gettime};

/// CLOCK_MONOTONIC now, ns: the same for every process of the host.
pub(crate) fn monotonic_ns() -> u64 {
    to_ns(clock_gettime(ClockId::Monotonic))
}

/// CLOCK_BOOTTIME now, ns: what start times of processes are counted in.
pub(crate) fn boot_ns() -> u64 {
    to_ns(clock_gettime(ClockId::Boottime))
}

/// CPU time of the calling thread so far, ns.
pub(crate) fn thread_cpu_ns() -> u64 {
    to_ns(clock_gettime(ClockId::ThreadCPUTime))
}

/// Sleeps until CLOCK_MONOTONIC reads `at_ns`: an instant, not a length, so that delays do not add up.
pub(crate) fn sleep_until(at_ns: u64) {
    let at = Duration::from_nanos(at_ns);
    let at = Timespec { tv_sec: at.as_secs() as i64, tv_nsec: i64::from(at.subsec_nanos()) };
    while let Err(Errno::INTR) = clock_nanosleep_absolute(ClockId::Monotonic, &at) {}
}

fn to_ns(time: Timespec) -> u64 {
    // These clocks start at 0 and never run backwards: the casts lose nothing.
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_instant_is_slept_to_and_one_in_the_past_is_not_waited_for() {
        let at = monotonic_ns() + 2_000_000;
        sleep_until(at);
        assert!(monotonic_ns() >= at);
        sleep_until(1);
        assert!(boot_ns() >= at);
    }
}
