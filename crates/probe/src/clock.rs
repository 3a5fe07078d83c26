//! The clocks that samples are stamped with.

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

fn to_ns(time: Timespec) -> u64 {
    // These clocks start at 0 and never run backwards: the casts lose nothing.
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
