//! The loop: it reads the clock again and again, and where two readings lie too far apart, something else had the CPU.

use std::sync::atomic::{AtomicBool, Ordering};

use super::cpu_sums::{CpuSums, OwnCpu};
use super::record::Record;

/// Steps by which the resolution is reported, and gaps by which the cost of keeping one is.
const TRIAL_STEPS: usize = 20_000;
const TRIAL_GAPS: usize = 500;

/// How often the loop looks whether it is to stop: a power of two.
const LOOK_EVERY: u64 = 1_024;

/// Reading the record takes less than this even from a cold cache, ns, where clocks are fast. A longer time means that something
/// came in between.
const LONGEST_READ_NS: u64 = 1_000;

/// The same where the clock is slow (a device, as hpet or acpi_pm; an emulated machine): so many times the median.
const LONGEST_OF_MEDIAN: u64 = 4;

/// How often the record is read anew before it is taken as it is.
const SETTLE_TRIES: u32 = 100;

/// The longest step that is taken for the keeping of a gap when the kernel counted nothing in it, ns. From a cold cache keeping takes
/// several times its median; a gap of the host that falls into it is lost.
const LONGEST_KEEPING_NS: u64 = 10_000;

/// What the loop costs itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct OwnCost {
    /// Half of all steps are at most this long, ns: what is shorter cannot be seen.
    pub(super) step_ns: u64,
    /// The shortest step, ns.
    pub(super) shortest_step_ns: u64,
    /// 99 of 100 are at most this long, ns.
    pub(super) step_p99_ns: u64,
    /// A reading of the record that took longer was interrupted, ns.
    pub(super) longest_read_ns: u64,
    /// Median cost of keeping a gap, ns; taken off the step that follows where that is a gap.
    pub(super) keeping_ns: u64,
}

/// Tries the loop out on this CPU. All memory is there afterwards.
pub(super) fn try_out(cpu: &impl OwnCpu, record: &mut Record) -> OwnCost {
    let mut steps = vec![0_u64; TRIAL_STEPS];
    let (mut last_ns, mut moves) = (cpu.now_ns(), 0_u64);
    for step in &mut steps {
        let now_ns = cpu.now_ns();
        moves ^= cpu.moves();
        *step = now_ns.saturating_sub(last_ns);
        last_ns = now_ns;
    }
    std::hint::black_box(moves);
    steps.sort_unstable();
    let longest_read_ns = LONGEST_READ_NS.max(LONGEST_OF_MEDIAN * median_read_ns(cpu));
    let mut keeping = [0_u64; TRIAL_GAPS];
    record.begin(last_ns, last_ns + 1_000_000_000);
    let mut seen = CpuSums::NONE;
    for kept in &mut keeping {
        let before = seen;
        let settled = settle(cpu, &mut seen, cpu.now_ns(), longest_read_ns);
        record.add_gap(settled.at_ns, record.threshold_ns + 1, seen.since(&before));
        *kept = cpu.now_ns().saturating_sub(settled.after_ns);
    }
    keeping.sort_unstable();
    OwnCost {
        step_ns: steps[TRIAL_STEPS / 2],
        shortest_step_ns: steps[0],
        step_p99_ns: steps[TRIAL_STEPS / 100 * 99],
        longest_read_ns,
        keeping_ns: keeping[TRIAL_GAPS / 2],
    }
}

/// Half of all readings of the record take at most this long, ns.
fn median_read_ns(cpu: &impl OwnCpu) -> u64 {
    let mut reads = [0_u64; TRIAL_GAPS];
    let mut seen = CpuSums::NONE;
    for read in &mut reads {
        let from_ns = cpu.now_ns();
        cpu.read(&mut seen);
        *read = cpu.now_ns().saturating_sub(from_ns);
    }
    std::hint::black_box(&seen);
    reads.sort_unstable();
    reads[TRIAL_GAPS / 2]
}

/// Runs for a window, until `stop` is raised, or until the loop has left its CPU. Makes no system call but the clock's, which is none where the vDSO has
/// the clock, and asks for no memory.
pub(super) fn run(cpu: &impl OwnCpu, record: &mut Record, cost: OwnCost, window_ns: u64, stop: &AtomicBool) {
    let mut seen = CpuSums::NONE;
    let quiet_ns = record.threshold_ns.max(cost.longest_read_ns);
    let settled = settle(cpu, &mut seen, cpu.now_ns(), quiet_ns);
    let until_ns = settled.after_ns.saturating_add(window_ns);
    record.begin(settled.after_ns, until_ns);
    if cpu.has_left() {
        (record.left, record.ended_ns) = (true, record.began_ns);
        return;
    }
    let (mut last_ns, mut moves, mut own_ns, mut steps) = (settled.after_ns, settled.moves, 0, 0_u64);
    let mut allowed_ns = record.threshold_ns;
    loop {
        let now_ns = cpu.now_ns();
        steps += 1;
        if now_ns.saturating_sub(last_ns) > allowed_ns || cpu.moves() != moves {
            // The time in which it was moved is no gap of this CPU.
            if cpu.has_left() {
                break;
            }
            let before = seen;
            let settled = settle(cpu, &mut seen, now_ns, quiet_ns);
            record.unsettled += u64::from(!settled.quiet);
            let length_ns = settled.at_ns.saturating_sub(last_ns).saturating_sub(own_ns);
            match length_ns > record.threshold_ns {
                true => record.add_gap(last_ns, length_ns, seen.since(&before)),
                false => record.add_small(&seen.since(&before)),
            }
            (last_ns, moves, own_ns) = (settled.after_ns, settled.moves, cost.keeping_ns.max(1));
            allowed_ns = record.threshold_ns.max(LONGEST_KEEPING_NS);
        } else {
            if own_ns > 0 {
                record.keeping_ns += now_ns.saturating_sub(last_ns);
                (own_ns, allowed_ns) = (0, record.threshold_ns);
            }
            last_ns = now_ns;
        }
        if last_ns >= until_ns || (steps % LOOK_EVERY == 0 && stop.load(Ordering::Relaxed)) {
            break;
        }
    }
    (record.ended_ns, record.steps, record.left) = (last_ns, steps, cpu.has_left());
}

/// A reading of the record during which nothing came in between.
struct Settled {
    /// When it began: the end of the gap before it.
    at_ns: u64,
    /// When it was done.
    after_ns: u64,
    moves: u64,
    /// Whether nothing came in between, as it should be.
    quiet: bool,
}

/// Reads the record until nothing happens meanwhile. So what is read belongs to the time up to `at_ns`, all of it. On a CPU that is
/// never quiet for so long it is taken as it is after some tries: the window has to end.
fn settle(cpu: &impl OwnCpu, into: &mut CpuSums, mut at_ns: u64, quiet_ns: u64) -> Settled {
    let mut tries = 0;
    loop {
        let moves = cpu.moves();
        cpu.read(into);
        let after_ns = cpu.now_ns();
        let quiet = after_ns.saturating_sub(at_ns) <= quiet_ns && cpu.moves() == moves;
        tries += 1;
        if quiet || tries == SETTLE_TRIES {
            return Settled { at_ns, after_ns, moves, quiet };
        }
        at_ns = after_ns;
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::super::join::UNEXPLAINED;
    use super::*;
    use crate::account::Source;

    /// A CPU whose clock moves by 30 ns with each look at it, and to which a script happens.
    struct Scripted {
        now_ns: Cell<u64>,
        seen: Cell<CpuSums>,
        /// When, how long, and how long a tick runs in it (0: none).
        script: Vec<(u64, u64, u64)>,
        next: Cell<usize>,
        /// When the loop is moved to another CPU.
        leaves_ns: u64,
    }

    impl Scripted {
        fn of(script: &[(u64, u64, u64)]) -> Self {
            let (now_ns, seen) = (Cell::new(0), Cell::new(CpuSums::NONE));
            Self { now_ns, seen, script: script.to_vec(), next: Cell::new(0), leaves_ns: u64::MAX }
        }

        fn happens(&self) {
            let due = self.script.get(self.next.get()).filter(|(at_ns, ..)| *at_ns <= self.now_ns.get());
            let Some((_, length_ns, tick_ns)) = due else { return };
            self.next.set(self.next.get() + 1);
            self.now_ns.set(self.now_ns.get() + length_ns);
            let mut seen = self.seen.get();
            if *tick_ns > 0 {
                seen.counts[Source::Tick as usize] += 1;
                seen.net_ns[Source::Tick as usize] += tick_ns;
            }
            self.seen.set(seen);
        }
    }

    impl OwnCpu for Scripted {
        fn now_ns(&self) -> u64 {
            self.now_ns.set(self.now_ns.get() + 30);
            self.happens();
            self.now_ns.get()
        }

        fn moves(&self) -> u64 {
            // Here, too, something can come between two looks.
            self.happens();
            self.seen.get().net_ns.iter().sum()
        }

        fn read(&self, into: &mut CpuSums) {
            *into = self.seen.get();
            self.happens();
        }

        fn has_left(&self) -> bool {
            self.now_ns.get() >= self.leaves_ns
        }
    }

    fn ran(script: &[(u64, u64, u64)]) -> Record {
        let mut record = Record::new(1_000);
        let cost = OwnCost { longest_read_ns: LONGEST_READ_NS, ..OwnCost::default() };
        run(&Scripted::of(script), &mut record, cost, 1_000_000, &AtomicBool::new(false));
        record
    }

    #[test]
    fn each_gap_is_joined_to_what_happened_in_it_wherever_in_the_loop_it_came() {
        // Offsets by a few ns let events come at each of the loop's instructions in turn.
        for offset in 0..200 {
            let record = ran(&[
                (100_000 + offset, 20_000, 8_000),
                (200_000 + offset, 5_000, 0),
                (205_000 + offset, 20_000, 8_000),
                (300_000 + offset, 700, 400),
            ]);
            let tick = record.rows[Source::Tick as usize];
            assert_eq!((tick.events, tick.net_ns, record.small_net_ns), (2, 16_000, 400), "{offset}");
            assert!(record.gaps == 3 || record.gaps == 2, "two that touch may be one: {offset}");
            let (true_ns, own_ns) = (45_000, 30 * 10);
            assert!((true_ns..true_ns + own_ns).contains(&record.gap_ns), "{} {offset}", record.gap_ns);
            assert_eq!(record.rows.iter().map(|row| row.net_ns + row.around_ns).sum::<u64>(), record.gap_ns);
            assert!(record.rows[UNEXPLAINED].net_ns <= 5_090 && record.beyond_ns == 0, "{offset}");
            assert!(record.ended_ns >= 1_000_000 && record.steps > 20_000);
        }
    }

    #[test]
    fn a_quiet_cpu_has_no_gaps_and_the_loop_can_be_stopped() {
        assert_eq!(ran(&[]).gaps, 0);
        let mut record = Record::new(1_000);
        run(&Scripted::of(&[]), &mut record, OwnCost::default(), u64::MAX, &AtomicBool::new(true));
        assert!(record.steps <= LOOK_EVERY);
    }

    #[test]
    fn a_loop_that_is_moved_ends_where_it_was_last_on_its_cpu() {
        let moved_at = |leaves_ns: u64| {
            let mut record = Record::new(1_000);
            let cost = OwnCost { longest_read_ns: LONGEST_READ_NS, ..OwnCost::default() };
            let moved = Scripted::of(&[(100_000, 20_000, 8_000), (400_000, 300_000, 0)]);
            let moved = Scripted { leaves_ns, ..moved };
            run(&moved, &mut record, cost, 1_000_000, &AtomicBool::new(false));
            record
        };
        let record = moved_at(400_000);
        assert!(record.left && (399_000..=400_100).contains(&record.ended_ns), "{}", record.ended_ns);
        assert_eq!((record.gaps, record.rows[UNEXPLAINED].gaps), (1, 0), "the time of the move is no gap");
        // Before its turn came.
        let record = moved_at(0);
        assert_eq!((record.left, record.gaps, record.ended_ns - record.began_ns), (true, 0, 0));
        // A gap of the same length on the CPU itself is one.
        let record = moved_at(u64::MAX);
        assert_eq!((record.left, record.gaps, record.rows[UNEXPLAINED].gaps), (false, 2, 1));
    }

    #[test]
    fn what_the_loop_costs_itself_is_tried_out() {
        let mut record = Record::new(1_000);
        let cost = try_out(&Scripted::of(&[(50_000, 90_000, 10_000)]), &mut record);
        assert_eq!((cost.step_ns, cost.shortest_step_ns, cost.keeping_ns), (30, 30, 30));
        assert_eq!(cost.longest_read_ns, LONGEST_READ_NS);
    }

    #[test]
    fn a_slow_clock_ends_the_window_all_the_same() {
        // Each look at the clock takes 30 ns here: time passes 500 times as fast, so that each step is a gap.
        let slow = Scripted::of(&[]);
        let mut record = Record::new(1_000);
        let cost = try_out(&Slow(&slow), &mut record);
        assert!(cost.longest_read_ns > 30_000 && cost.step_ns > record.threshold_ns, "{cost:?}");
        run(&Slow(&slow), &mut record, cost, 100_000_000, &AtomicBool::new(false));
        assert!(record.gaps > 0 && record.unsettled == 0, "{} {}", record.gaps, record.unsettled);
    }

    #[test]
    fn a_cpu_that_is_never_quiet_ends_the_window_all_the_same() {
        let mut record = Record::new(1_000);
        let cost = OwnCost { longest_read_ns: 1, ..OwnCost::default() };
        run(&Slow(&Scripted::of(&[])), &mut record, cost, 100_000_000, &AtomicBool::new(false));
        assert!(record.unsettled > 0 && record.unsettled <= record.gaps);
    }

    /// Time passes 500 times as fast.
    struct Slow<'a>(&'a Scripted);

    impl OwnCpu for Slow<'_> {
        fn now_ns(&self) -> u64 {
            self.0.now_ns() * 500
        }

        fn moves(&self) -> u64 {
            self.0.moves()
        }

        fn read(&self, into: &mut CpuSums) {
            self.0.read(into);
        }
    }
}
