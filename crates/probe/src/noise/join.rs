//! What a gap is made of.

use super::cpu_sums::CpuSums;
use crate::bpf::{SOURCE_SOFTIRQ, SOURCES};

/// Rows into which gaps are split: the sources, then these.
pub(super) const OTHER_TASKS: usize = SOURCES;
/// The loop was off the CPU, and no other task was on it.
pub(super) const IDLE: usize = SOURCES + 1;
/// The hypervisor, by its own word.
pub(super) const STEAL: usize = SOURCES + 2;
/// No event of the kernel at all.
pub(super) const UNEXPLAINED: usize = SOURCES + 3;
/// How many.
pub(super) const ROWS: usize = SOURCES + 4;

/// A gap and what the kernel counted inside it. `net_ns` and `around_ns` of all rows add up to its length.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Joined {
    /// Length, ns.
    pub(super) length_ns: u64,
    /// What was counted.
    pub(super) seen: CpuSums,
    /// Time by row, ns: handlers net of each other, slices of other tasks, steal, unexplained.
    pub(super) net_ns: [u64; ROWS],
    /// Entry and exit of each row's events, ns: what is left of a gap that has events.
    pub(super) around_ns: [u64; ROWS],
    /// What the kernel counted beyond the length of the gap, ns; left out above.
    pub(super) beyond_ns: u64,
}

impl Joined {
    /// An empty gap, to be filled.
    pub(super) const NONE: Self =
        Self { length_ns: 0, seen: CpuSums::NONE, net_ns: [0; ROWS], around_ns: [0; ROWS], beyond_ns: 0 };

    /// Joins a gap to what was counted inside it. `stolen_ns` is what of it the hypervisor is known to have had at most.
    pub(super) fn of(length_ns: u64, seen: CpuSums, stolen_ns: u64) -> Self {
        let mut joined = Self { length_ns, seen, ..Self::NONE };
        let mut left_ns = length_ns;
        for source in 0..SOURCES {
            joined.book(source, seen.net_ns[source], &mut left_ns);
        }
        if seen.loop_is_known {
            joined.book(OTHER_TASKS, seen.other_ns, &mut left_ns);
            joined.book(IDLE, seen.idle_ns, &mut left_ns);
        } else if seen.switches > 0 {
            // The rest is theirs, and the way to them and back.
            let rest_ns = left_ns;
            joined.book(OTHER_TASKS, rest_ns, &mut left_ns);
        }
        joined.book(STEAL, stolen_ns.min(left_ns), &mut left_ns);
        joined.leave(left_ns);
        joined
    }

    fn book(&mut self, row: usize, ns: u64, left_ns: &mut u64) {
        let booked_ns = ns.min(*left_ns);
        self.net_ns[row] = booked_ns;
        self.beyond_ns += ns - booked_ns;
        *left_ns -= booked_ns;
    }

    /// Gives the rest to the events inside in equal parts, to interrupts and switches rather than to softirqs, which
    /// follow on them; to nobody where there were none.
    fn leave(&mut self, rest_ns: u64) {
        let mut weights = [0; ROWS];
        weights[..SOURCE_SOFTIRQ].copy_from_slice(&self.seen.counts[..SOURCE_SOFTIRQ]);
        let to = if self.net_ns[IDLE] > self.net_ns[OTHER_TASKS] { IDLE } else { OTHER_TASKS };
        // Away and back again is one interruption.
        weights[to] = self.seen.switches.div_ceil(2);
        if weights == [0; ROWS] {
            weights[SOURCE_SOFTIRQ..SOURCES].copy_from_slice(&self.seen.counts[SOURCE_SOFTIRQ..]);
        }
        let all: u64 = weights.iter().sum();
        let Some(first) = weights.iter().position(|weight| *weight > 0) else {
            self.net_ns[UNEXPLAINED] = rest_ns;
            return;
        };
        let mut left_ns = rest_ns;
        for (row, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0) {
            self.around_ns[row] = (u128::from(rest_ns) * u128::from(*weight) / u128::from(all)) as u64;
            left_ns -= self.around_ns[row];
        }
        self.around_ns[first] += left_ns;
    }

    /// How often a row's events came inside it.
    pub(super) fn events(&self, row: usize) -> u64 {
        match row {
            0..SOURCES => self.seen.counts[row],
            OTHER_TASKS | IDLE if self.net_ns[row] + self.around_ns[row] > 0 => {
                self.seen.switches.div_ceil(2)
            }
            STEAL | UNEXPLAINED => u64::from(self.net_ns[row] > 0),
            _ => 0,
        }
    }

    /// Whether a row has a part in it.
    pub(super) fn has(&self, row: usize) -> bool {
        self.events(row) > 0 || self.net_ns[row] + self.around_ns[row] > 0
    }

    /// The only source inside it, when there is but one and nothing else that is known.
    pub(super) fn only_source(&self) -> Option<usize> {
        if self.seen.switches > 0 || self.net_ns[STEAL] > 0 {
            return None;
        }
        let mut there = (0..SOURCES).filter(|source| self.seen.counts[*source] > 0);
        there.next().filter(|_| there.next().is_none())
    }

    /// Entry and exit of all events, ns.
    pub(super) fn all_around_ns(&self) -> u64 {
        self.around_ns.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::account::Source;

    const TICK: usize = Source::Tick as usize;
    const DEVICE: usize = Source::Device as usize;
    const TIMER: usize = Source::SoftirqTimer as usize;

    fn seen(events: &[(usize, u64, u64)]) -> CpuSums {
        let mut seen = CpuSums::NONE;
        for (source, count, net_ns) in events {
            (seen.counts[*source], seen.net_ns[*source]) = (*count, *net_ns);
        }
        seen
    }

    fn sum(joined: &Joined) -> u64 {
        joined.net_ns.iter().sum::<u64>() + joined.all_around_ns()
    }

    #[test]
    fn a_tick_has_its_handler_and_the_way_there_and_back() {
        let joined = Joined::of(20_000, seen(&[(TICK, 1, 8_000)]), 0);
        assert_eq!((joined.net_ns[TICK], joined.around_ns[TICK], sum(&joined)), (8_000, 12_000, 20_000));
        assert_eq!((joined.only_source(), joined.net_ns[UNEXPLAINED]), (Some(TICK), 0));
    }

    #[test]
    fn the_way_belongs_to_interrupts_and_not_to_the_softirqs_that_follow() {
        let joined = Joined::of(30_000, seen(&[(TICK, 1, 8_000), (DEVICE, 2, 3_000), (TIMER, 1, 10_000)]), 0);
        assert_eq!(
            (joined.around_ns[TICK], joined.around_ns[DEVICE], joined.around_ns[TIMER]),
            (3_000, 6_000, 0)
        );
        assert_eq!((sum(&joined), joined.only_source()), (30_000, None));
        let alone = Joined::of(5_001, seen(&[(TIMER, 2, 3_000)]), 0);
        assert_eq!((alone.around_ns[TIMER], alone.only_source()), (2_001, Some(TIMER)));
    }

    #[test]
    fn nothing_inside_is_unexplained_and_known_steal_is_not() {
        let joined = Joined::of(7_000, CpuSums::NONE, 0);
        assert_eq!((joined.net_ns[UNEXPLAINED], joined.events(UNEXPLAINED), sum(&joined)), (7_000, 1, 7_000));
        let stolen = Joined::of(50_000, seen(&[(TICK, 1, 8_000)]), 90_000);
        assert_eq!((stolen.net_ns[STEAL], sum(&stolen), stolen.beyond_ns), (42_000, 50_000, 0));
    }

    #[test]
    fn another_task_has_its_slice_and_the_switches() {
        let mut with_task = seen(&[(TICK, 1, 8_000)]);
        (with_task.switches, with_task.other_ns) = (2, 80_000);
        let joined = Joined::of(100_000, with_task, 0);
        assert_eq!((joined.net_ns[OTHER_TASKS], joined.around_ns[OTHER_TASKS]), (80_000, 6_000));
        assert_eq!((joined.events(OTHER_TASKS), joined.events(IDLE), sum(&joined)), (1, 0, 100_000));
        (with_task.idle_ns, with_task.other_ns) = (80_000, 0);
        let joined = Joined::of(100_000, with_task, 0);
        assert_eq!(
            (joined.net_ns[IDLE], joined.around_ns[IDLE], joined.events(OTHER_TASKS)),
            (80_000, 6_000, 0)
        );
    }

    #[test]
    fn where_the_loop_is_not_known_all_that_is_left_is_other_tasks() {
        let mut unknown = seen(&[(TICK, 1, 8_000)]);
        (unknown.switches, unknown.other_ns) = (2, 9_000_000);
        unknown.loop_is_known = false;
        let joined = Joined::of(100_000, unknown, 0);
        assert_eq!((joined.net_ns[OTHER_TASKS], sum(&joined), joined.beyond_ns), (92_000, 100_000, 0));
    }

    #[test]
    fn more_than_the_gap_is_cut_and_told() {
        let joined = Joined::of(10_000, seen(&[(TICK, 1, 8_000), (DEVICE, 1, 5_000)]), 0);
        assert_eq!((sum(&joined), joined.beyond_ns), (10_000, 3_000));
    }
}
