//! The clock that the load generator shares with the sampler of another process.

use rustix::time::{ClockId, Timespec, clock_gettime};

/// CLOCK_MONOTONIC now, ns. Every process of one host reads the same clock (time_namespaces(7) aside), so that
/// intervals of the load line up with samples of a probe.
pub fn monotonic_ns() -> u64 {
    to_ns(clock_gettime(ClockId::Monotonic))
}

/// Sleeps until the clock reads `at_ns`; not at all where that is past.
pub(crate) fn sleep_until(at_ns: u64) {
    loop {
        match at_ns.checked_sub(monotonic_ns()) {
            None | Some(0) => return,
            Some(left_ns) => std::thread::sleep(std::time::Duration::from_nanos(left_ns)),
        }
    }
}

/// CPU time of the calling thread so far, ns.
pub fn thread_cpu_ns() -> u64 {
    to_ns(clock_gettime(ClockId::ThreadCPUTime))
}

fn to_ns(time: Timespec) -> u64 {
    // These clocks start at 0 and never run backwards: the casts lose nothing.
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
