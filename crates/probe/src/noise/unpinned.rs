//! Gaps of a thread wherever the kernel runs it: the same loop without the kernel's record, in stretches that end when it was moved.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rustix::thread::sched_getcpu;

use super::cpu_sums::{CpuSums, OwnCpu};
use super::gap_loop::{self, OwnCost};
use super::record::Record;
use crate::clock;

/// The gap loop for the calling thread, pinned or not.
#[derive(Debug)]
pub struct OwnGaps {
    record: Box<Record>,
    cost: OwnCost,
}

/// What the loop saw while it stayed on one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stretch {
    /// The CPU.
    pub cpu: u32,
    /// Its length, ns.
    pub length_ns: u64,
    /// Gaps longer than the threshold.
    pub gaps: u64,
    /// Their sum, ns.
    pub gap_ns: u64,
    /// The longest, ns.
    pub longest_ns: u64,
    /// How many were longer than 1, 10, 100 and 1,000 us.
    pub over: [u64; 4],
}

impl OwnGaps {
    /// Tries the loop out, which takes some milliseconds. Gaps longer than `threshold` count.
    pub fn new(threshold: Duration) -> Self {
        let mut record = Box::new(Record::new(threshold.as_nanos() as u64));
        let cost = gap_loop::try_out(&Here::now(&AtomicBool::new(false)), &mut record);
        Self { record, cost }
    }

    /// Spins for so long, or until the kernel has moved the calling thread to another CPU. The gap of the move counts for the CPU that was
    /// left.
    pub fn stretch(&mut self, at_most: Duration) -> Stretch {
        let moved = AtomicBool::new(false);
        let here = Here::now(&moved);
        gap_loop::run(&here, &mut self.record, self.cost, at_most.as_nanos() as u64, &moved);
        let record = &self.record;
        Stretch {
            cpu: here.cpu as u32,
            length_ns: record.ended_ns.saturating_sub(record.began_ns),
            gaps: record.gaps,
            gap_ns: record.gap_ns,
            longest_ns: record.longest_ns,
            over: record.above,
        }
    }
}

/// The CPU on which a stretch began.
struct Here<'a> {
    cpu: usize,
    moved: &'a AtomicBool,
}

impl<'a> Here<'a> {
    fn now(moved: &'a AtomicBool) -> Self {
        Self { cpu: sched_getcpu(), moved }
    }
}

impl OwnCpu for Here<'_> {
    fn now_ns(&self) -> u64 {
        clock::monotonic_ns()
    }

    fn moves(&self) -> u64 {
        0
    }

    /// Called after each gap: a thread that was moved has had one, since somebody else had to run to move it.
    fn read(&self, _: &mut CpuSums) {
        if sched_getcpu() != self.cpu {
            self.moved.store(true, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stretch_is_as_long_as_asked_and_its_gaps_lie_within_it() {
        let mut gaps = OwnGaps::new(Duration::from_micros(1));
        let mut left = Duration::from_millis(50);
        let (mut whole_ns, mut stretches) = (0, 0);
        while !left.is_zero() {
            let stretch = gaps.stretch(left);
            assert!(
                stretch.gap_ns <= stretch.length_ns && stretch.longest_ns <= stretch.gap_ns,
                "{stretch:?}"
            );
            assert!(stretch.over[0] == stretch.gaps && stretch.over[1] <= stretch.over[0], "{stretch:?}");
            left = left.saturating_sub(Duration::from_nanos(stretch.length_ns));
            (whole_ns, stretches) = (whole_ns + stretch.length_ns, stretches + 1);
        }
        assert!(whole_ns >= 50_000_000, "{whole_ns} in {stretches}");
    }
}
