//! When slices end, and waiting for it.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use machine::{Class, Fault};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;

use crate::clock::monotonic_ns;

/// As whole nanoseconds.
pub(super) fn ns(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

/// When the slice that is under way ends: at the next whole slice since the beginning, and at the end of the run where that is less than
/// half a slice after it. One that is late is longer, and moves none of those that follow.
pub(super) fn next_end(from_ns: u64, slice_ns: u64, until_ns: u64, now_ns: u64) -> u64 {
    let slice_ns = slice_ns.max(1);
    let done = now_ns.saturating_sub(from_ns) / slice_ns;
    let end_ns = from_ns.saturating_add((done + 1).saturating_mul(slice_ns));
    if end_ns.saturating_add(slice_ns / 2) > until_ns { until_ns } else { end_ns }
}

/// Waits until then; whether `stop` became readable before.
///
/// # Errors
/// poll(2) fails.
pub(super) fn is_stopped(until_ns: u64, stop: Option<BorrowedFd<'_>>) -> Result<bool, Fault> {
    loop {
        let left_ns = until_ns.saturating_sub(monotonic_ns());
        if left_ns == 0 {
            return Ok(false);
        }
        let left = Duration::from_nanos(left_ns);
        let timeout = Timespec { tv_sec: left.as_secs() as i64, tv_nsec: left.subsec_nanos().into() };
        let mut fds: Vec<PollFd<'_>> =
            stop.iter().map(|stop| PollFd::from_borrowed_fd(*stop, PollFlags::IN)).collect();
        match poll(&mut fds, Some(&timeout)) {
            Ok(0) | Err(Errno::INTR) => {}
            Ok(_) => return Ok(true),
            Err(why) => {
                return Err(Fault::new(
                    Class::WorkloadFailed,
                    "poll",
                    why,
                    "check the limit of open files (ulimit -n)",
                ));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use super::*;

    const TENTH: u64 = 100;

    #[test]
    fn slices_end_at_whole_tenths_and_the_last_one_with_the_run() {
        let next = |now_ns| next_end(1_000, TENTH, 1_430, now_ns);
        assert_eq!((next(1_000), next(1_099), next(1_100)), (1_100, 1_100, 1_200));
        // One that is late is not followed by a short one to make up for it.
        assert_eq!(next(1_205), 1_300);
        // 1,400 is too near the end for a slice of its own.
        assert_eq!((next(1_300), next(1_350), next(1_500)), (1_430, 1_430, 1_430));
    }

    #[test]
    fn a_wait_ends_when_its_time_is_over_and_when_it_is_stopped() {
        assert!(!is_stopped(monotonic_ns() + 1_000_000, None).unwrap());
        let (stop, writer) = std::io::pipe().unwrap();
        drop(writer);
        assert!(is_stopped(u64::MAX / 4, Some(stop.as_fd())).unwrap());
    }
}
