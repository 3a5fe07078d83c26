//! How a task left its CPU, in the number that sched_switch prints (kernels from 4.14 on).

use probe::events::Left;

/// include/linux/sched.h: what counts as a state when it is reported, and the two that are made for it.
const REPORTED: u32 = 0x7f;
const REPORTED_IDLE: i64 = 0x80;
const REPORTED_PREEMPTED: i64 = 0x100;

/// Bits of the kernel's own record.
const UNINTERRUPTIBLE: u32 = 0x2;
const DEAD: u32 = 0x80;
const NO_LOAD: u32 = 0x400;
const WAITS_FOR_REAL_TIME_LOCK: u32 = 0x1000;
const FROZEN: u32 = 0x8000;

/// As a dead task is reported.
const EXIT_DEAD: i64 = 0x10;

/// No state has this bit: Perfetto shows it as unknown, which it is.
pub(super) const UNKNOWN: i64 = 0x200;

/// For a task that is none of this trace's concern, so that it is drawn neither as running nor as able to run.
pub(super) const IDLE: i64 = REPORTED_IDLE;

/// Whether the task could have run on.
pub(super) fn could_run_on(left: Left) -> bool {
    matches!(left, Left::Preempted | Left::Throttled)
}

/// The number for a way of leaving.
pub(super) fn reported(left: Left) -> i64 {
    match left {
        Left::Preempted | Left::Throttled => REPORTED_PREEMPTED,
        Left::Waits(state) => of_record(state),
    }
}

fn of_record(state: u32) -> i64 {
    if state & DEAD != 0 {
        return EXIT_DEAD;
    }
    if state & (UNINTERRUPTIBLE | NO_LOAD) == UNINTERRUPTIBLE | NO_LOAD {
        return REPORTED_IDLE;
    }
    if state & (WAITS_FOR_REAL_TIME_LOCK | FROZEN) != 0 {
        return i64::from(UNINTERRUPTIBLE);
    }
    match state & REPORTED {
        0 => UNKNOWN,
        // The highest of them alone is reported.
        some => 1 << some.ilog2(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_reported_as_the_kernels_tracer_does() {
        let cases = [
            (Left::Preempted, 0x100),
            (Left::Throttled, 0x100),
            (Left::Waits(0x1), 0x1),
            (Left::Waits(0x2), 0x2),
            (Left::Waits(0x402), 0x80),
            (Left::Waits(0x102), 0x2),
            (Left::Waits(0x2001), 0x1),
            (Left::Waits(0x80), 0x10),
            (Left::Waits(0x1000), 0x2),
            (Left::Waits(0x4), 0x4),
            (Left::Waits(0x40), 0x40),
        ];
        for (left, number) in cases {
            assert_eq!(reported(left), number, "{left:?}");
        }
    }

    #[test]
    fn a_state_that_nobody_knows_is_none_that_means_something() {
        assert_eq!(reported(Left::Waits(0)), UNKNOWN);
    }
}
