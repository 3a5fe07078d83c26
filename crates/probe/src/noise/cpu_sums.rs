//! What the gap loop looks at: the clock, and the kernel's record of its CPU.

use std::mem::offset_of;
use std::sync::Arc;

use rustix::thread::sched_getcpu;

use crate::bpf::{CpuHead, CpuSeen, CpuTables, SOURCES, SourceSeen, Tally};
use crate::clock;

/// Sums of a CPU since counting began, or the difference of two such readings. Times are net, ns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CpuSums {
    /// Events by source, in the order of [`crate::account::Source::ALL`].
    pub(super) counts: [u64; SOURCES],
    /// Their time.
    pub(super) net_ns: [u64; SOURCES],
    /// Changes of the task that runs.
    pub(super) switches: u64,
    /// Complete slices of tasks other than the loop.
    pub(super) other_ns: u64,
    /// Complete slices in which no task ran.
    pub(super) idle_ns: u64,
    /// What the run queue's clock counted as stolen when the tick last ran.
    pub(super) steal_ns: u64,
    /// Whether the kernel's programs know that the loop has the CPU; of a difference, at both its ends. Where not, a switch was
    /// not reported to them, and what they hold for slices of other tasks can be the loop's own.
    pub(super) loop_is_known: bool,
}

impl CpuSums {
    /// Nothing.
    pub(super) const NONE: Self = Self {
        counts: [0; SOURCES],
        net_ns: [0; SOURCES],
        switches: 0,
        other_ns: 0,
        idle_ns: 0,
        steal_ns: 0,
        loop_is_known: true,
    };

    /// What came since an earlier reading.
    pub(super) fn since(&self, before: &Self) -> Self {
        let mut moved = *self;
        for source in 0..SOURCES {
            moved.counts[source] = self.counts[source].wrapping_sub(before.counts[source]);
            moved.net_ns[source] = self.net_ns[source].wrapping_sub(before.net_ns[source]);
        }
        moved.switches = self.switches.wrapping_sub(before.switches);
        moved.other_ns = self.other_ns.wrapping_sub(before.other_ns);
        moved.idle_ns = self.idle_ns.wrapping_sub(before.idle_ns);
        // The first tick reports what was stolen since boot.
        moved.steal_ns = if before.steal_ns == 0 { 0 } else { self.steal_ns.wrapping_sub(before.steal_ns) };
        moved.loop_is_known = self.loop_is_known && before.loop_is_known;
        moved
    }
}

/// What a loop can ask without a system call. A twin in the tests plays a script.
pub(super) trait OwnCpu {
    /// CLOCK_MONOTONIC, ns.
    fn now_ns(&self) -> u64;
    /// A number that is another one whenever something has been counted.
    fn moves(&self) -> u64;
    /// Reads the record.
    fn read(&self, into: &mut CpuSums);
    /// Whether the loop runs on another CPU by now. The kernel moves what is pinned to a CPU that goes offline (kernel/sched/core.c,
    /// select_fallback_rq).
    fn has_left(&self) -> bool {
        false
    }
}

// The head of a record lies at its beginning. Slot and number are read as one word, the slot first.
const _: () = assert!(offset_of!(CpuSeen, head) == 0);
#[cfg(target_endian = "little")]
const _: () = assert!(offset_of!(CpuHead, current_slot) % 8 == 0);

/// The CPU on which the caller is pinned.
pub(super) struct LiveCpu {
    /// Of all CPUs; none where the kernel does not count.
    pub(super) tables: Option<Arc<CpuTables>>,
    /// Its number.
    pub(super) cpu: usize,
}

impl LiveCpu {
    fn word(&self, offset: usize) -> u64 {
        self.tables.as_ref().and_then(|tables| tables.records.word(self.cpu, offset)).unwrap_or(0)
    }
}

impl OwnCpu for LiveCpu {
    fn now_ns(&self) -> u64 {
        clock::monotonic_ns()
    }

    #[inline]
    fn moves(&self) -> u64 {
        match &self.tables {
            None => 0,
            Some(_) => {
                let interrupted_ns = self.word(offset_of!(CpuHead, interrupted_ns));
                interrupted_ns.wrapping_add(self.word(offset_of!(CpuHead, switches)))
            }
        }
    }

    fn read(&self, into: &mut CpuSums) {
        let Some(tables) = &self.tables else { return };
        for source in 0..SOURCES {
            let all = offset_of!(SourceSeen, all);
            let word = |offset: usize| tables.word_of_source(source, self.cpu, all + offset).unwrap_or(0);
            into.counts[source] = word(offset_of!(Tally, count));
            into.net_ns[source] = word(offset_of!(Tally, total_ns));
        }
        into.switches = self.word(offset_of!(CpuHead, switches));
        into.other_ns = self.word(offset_of!(CpuHead, other_ns));
        into.idle_ns = self.word(offset_of!(CpuHead, idle_ns));
        into.steal_ns = self.word(offset_of!(CpuHead, steal_ns));
        // Slot and thread number of who has the CPU share this word; the slot is 0 for others than the target.
        into.loop_is_known = self.word(offset_of!(CpuHead, current_slot)) as u32 != 0;
    }

    fn has_left(&self) -> bool {
        sched_getcpu() != self.cpu
    }
}
