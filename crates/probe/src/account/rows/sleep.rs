//! What a thread sleeps for.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::part::Part;
use crate::bpf::{SLEEP_REASONS, ThreadSeen};

/// What a thread waits for while it is asleep, by the system call in which it sleeps; with a timeout or without.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum SleepReason {
    /// The call is not known: with raw trace points, before Linux 5.15, in a 32-bit program, where the thread was asleep before it was
    /// watched and no walk over tasks has shown it, or where a call goes on after a stop (restart_syscall(2)).
    Unknown,
    /// Another thread, by a lock or a condition in memory: futex(2).
    Futex,
    /// Something to read, or to be ready: epoll_wait(2), poll(2), select(2), read(2), recv(2), accept(2), io_uring_enter(2) and the like. A
    /// timeout of these calls is no [`SleepReason::Timer`].
    Input,
    /// A time, and nothing else: nanosleep(2), clock_nanosleep(2).
    Timer,
    /// Room to write: write(2), send(2), sendfile(2), splice(2) and the like.
    Output,
    /// What was written to be stored: fsync(2), msync(2) and the like. Mostly that is *blocked* instead.
    Sync,
    /// A child to end: wait4(2), waitid(2).
    Child,
    /// To be let go on: stopped by a signal (SIGSTOP), held by a tracer or frozen with its cgroup, whatever call it is in. Not of its own
    /// will.
    Stopped,
    /// Another call, or none: threads of the kernel, a page fault that another process handles, a thread that is being born.
    Other,
}

impl SleepReason {
    /// All, in the order of the kernel's programs (`enum sleep_reason` of bpf/records.h).
    pub const ALL: [Self; SLEEP_REASONS] = [
        Self::Unknown,
        Self::Futex,
        Self::Input,
        Self::Timer,
        Self::Output,
        Self::Sync,
        Self::Child,
        Self::Stopped,
        Self::Other,
    ];
}

/// What a thread slept for, by the kernel's record: what has ended. Reasons that it never had are left out.
pub(in crate::account) fn ended(seen: &ThreadSeen) -> BTreeMap<SleepReason, Part> {
    let sums = SleepReason::ALL.into_iter().zip(&seen.asleep_for).filter(|(_, sum)| sum.count > 0);
    sums.map(|(reason, sum)| (reason, Part { count: sum.count, total_ns: sum.total_ns })).collect()
}

/// The same with one more stretch, that goes on.
pub(in crate::account) fn goes_on(asleep_for: &mut BTreeMap<SleepReason, Part>, seen: &ThreadSeen, ns: u64) {
    let reason = SleepReason::ALL.get(seen.sleeps_for as usize).copied().unwrap_or(SleepReason::Unknown);
    let part = asleep_for.entry(reason).or_default();
    *part = part.plus(&Part { count: 1, total_ns: ns });
}

/// What it slept for since an earlier reading. Reasons that nothing came to are left out.
pub(in crate::account) fn since(
    now: &BTreeMap<SleepReason, Part>,
    earlier: &BTreeMap<SleepReason, Part>,
) -> BTreeMap<SleepReason, Part> {
    let before = |reason: &SleepReason| earlier.get(reason).copied().unwrap_or_default();
    let more = now.iter().map(|(reason, part)| (*reason, part.since(&before(reason))));
    more.filter(|(_, part)| *part != Part::default()).collect()
}

/// Both together.
pub(in crate::account) fn plus(
    mut one: BTreeMap<SleepReason, Part>,
    other: &BTreeMap<SleepReason, Part>,
) -> BTreeMap<SleepReason, Part> {
    for (reason, part) in other {
        let sum = one.entry(*reason).or_default();
        *sum = sum.plus(part);
    }
    one
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf::{Record as _, Sum};

    #[test]
    fn the_order_is_that_of_the_numbers() {
        for (number, reason) in SleepReason::ALL.iter().enumerate() {
            assert_eq!(*reason as usize, number);
        }
    }

    #[test]
    fn what_ended_and_what_goes_on_are_all_of_it() {
        let mut seen = ThreadSeen { sleeps_for: SleepReason::Timer as u32, ..ThreadSeen::zeroed() };
        seen.asleep_for[SleepReason::Futex as usize] = Sum { count: 2, total_ns: 30 };
        let mut all = ended(&seen);
        goes_on(&mut all, &seen, 7);
        let part = |count, total_ns| Part { count, total_ns };
        assert_eq!(all, [(SleepReason::Futex, part(2, 30)), (SleepReason::Timer, part(1, 7))].into());
        assert_eq!(plus(since(&all, &ended(&seen)), &ended(&seen)), all);
        assert_eq!(since(&all, &all), BTreeMap::new());
        // A number that these programs do not have.
        seen.sleeps_for = SLEEP_REASONS as u32;
        goes_on(&mut all, &seen, 1);
        assert_eq!(all[&SleepReason::Unknown], part(1, 1));
    }
}
