//! One thread of the thief: when it takes its share of each period.

use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::Errno;
use rustix::thread::{ClockId, Timespec, clock_nanosleep_absolute};

use crate::clock::{monotonic_ns, thread_cpu_ns};

/// How often it turns between two readings of its CPU time.
const TURNS: u32 = 50;

/// Steps of this size, taken modulo 1, fall evenly between 0 and 1 however many there are (the golden section).
const EVEN_STEP: f64 = 0.618_033_988_749_894_9;

/// What it takes, and when.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pace {
    share: f64,
    period_ns: u64,
    /// Where in the period it begins, as a part of the time that it leaves to others, 0 to 1.
    phase: f64,
}

impl Pace {
    pub(super) fn new(share: f64, period_ns: u64, cpu: u32) -> Self {
        // Threads of several CPUs are not to be in step.
        Self { share, period_ns, phase: (f64::from(cpu) * 0.4).fract() }
    }

    /// Takes its share of each period until `stop` is set.
    ///
    /// It begins at another place in each period: the kernel's tick, which charges CPU time to users and system by what runs at
    /// fixed instants, would charge a thief in step with it with nothing or with everything.
    pub(super) fn keep(mut self, stop: &AtomicBool) {
        let take_ns = (self.share * self.period_ns as f64) as u64;
        let mut begins_ns = monotonic_ns();
        let mut used_ns = thread_cpu_ns();
        while !stop.load(Ordering::Relaxed) {
            sleep_until(begins_ns + self.offset_ns(take_ns));
            // Counted from the end of the last take: going to sleep and waking up cost others their CPU too.
            take(used_ns + take_ns, begins_ns + self.period_ns, stop);
            used_ns = thread_cpu_ns();
            begins_ns = next_period(begins_ns, self.period_ns, monotonic_ns());
        }
    }

    /// Where it begins in the next period, ns after the period's begin.
    fn offset_ns(&mut self, take_ns: u64) -> u64 {
        self.phase = (self.phase + EVEN_STEP).fract();
        (self.phase * (self.period_ns - take_ns) as f64) as u64
    }
}

/// Uses a CPU until this thread has used `until_used_ns` of CPU time since it began, or it is `ends_ns` by the clock.
fn take(until_used_ns: u64, ends_ns: u64, stop: &AtomicBool) {
    while thread_cpu_ns() < until_used_ns && monotonic_ns() < ends_ns && !stop.load(Ordering::Relaxed) {
        (0..TURNS).for_each(|_| std::hint::spin_loop());
    }
}

/// The first period that begins after the one of `begins_ns` and is not over at `now_ns`: those that passed meanwhile are lost.
fn next_period(begins_ns: u64, period_ns: u64, now_ns: u64) -> u64 {
    let passed = now_ns.saturating_sub(begins_ns) / period_ns;
    begins_ns + passed.max(1) * period_ns
}

fn sleep_until(at_ns: u64) {
    let at = Timespec { tv_sec: (at_ns / 1_000_000_000) as _, tv_nsec: (at_ns % 1_000_000_000) as _ };
    while monotonic_ns() < at_ns {
        match clock_nanosleep_absolute(ClockId::Monotonic, &at) {
            Err(Errno::INTR) => {}
            _ => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_period_that_was_missed_is_lost() {
        assert_eq!(next_period(1_000, 100, 1_020), 1_100, "the next one");
        assert_eq!(next_period(1_000, 100, 1_100), 1_100, "which begins now");
        assert_eq!(next_period(1_000, 100, 1_150), 1_100, "late by less than a period: what is left of it");
        assert_eq!(next_period(1_000, 100, 1_720), 1_700, "six are lost");
    }

    #[test]
    fn it_begins_everywhere_in_the_time_that_it_leaves() {
        let mut pace = Pace::new(0.2, 2_000_000, 3);
        let mut offsets: Vec<u64> = (0..160).map(|_| pace.offset_ns(400_000)).collect();
        assert!(offsets.iter().all(|offset| *offset <= 1_600_000));
        offsets.sort_unstable();
        let widest = offsets.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap();
        assert!(widest < 60_000, "{widest} ns without a begin");
    }

    #[test]
    fn it_stops_at_the_end_of_its_period_and_when_asked() {
        let stop = AtomicBool::new(false);
        let began_ns = monotonic_ns();
        take(u64::MAX, began_ns + 2_000_000, &stop);
        assert!(monotonic_ns() >= began_ns + 2_000_000);
        stop.store(true, Ordering::Relaxed);
        take(u64::MAX, u64::MAX, &stop);
    }
}
