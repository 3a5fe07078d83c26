//! What a gap loop keeps. Everything has its room before the loop begins: keeping asks for no memory.

use super::cpu_sums::CpuSums;
use super::join::{Joined, ROWS, STEAL, UNEXPLAINED};
use crate::account::{Distribution, Source};

/// Parts of the window, for the picture over time.
pub(super) const BINS: usize = 120;
/// The longest gaps that are kept one by one.
pub(super) const LONGEST: usize = 16;
/// Lengths above which gaps are counted, ns.
pub(super) const EDGES_NS: [u64; 4] = [1_000, 10_000, 100_000, 1_000_000];

/// A row of the account: a source, other tasks, steal and so on (see [`super::join`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Row {
    /// Gaps in which it has a part.
    pub(super) gaps: u64,
    /// Its events inside of gaps.
    pub(super) events: u64,
    /// Its own time, ns.
    pub(super) net_ns: u64,
    /// Entry and exit, ns.
    pub(super) around_ns: u64,
    /// The longest gap in which it has a part, ns.
    pub(super) longest_gap_ns: u64,
    /// Gaps in which it is the only source.
    pub(super) alone: u64,
    /// Their length, ns.
    pub(super) alone_gap_ns: u64,
    /// Its own time in them, ns.
    pub(super) alone_net_ns: u64,
}

/// A part of the window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bin {
    /// Time in gaps, ns.
    pub(super) gap_ns: u64,
    /// The longest gap that began in it, ns.
    pub(super) longest_ns: u64,
}

/// One gap.
#[derive(Debug, Clone, Copy)]
pub(super) struct Gap {
    /// When it began, CLOCK_MONOTONIC ns.
    pub(super) began_ns: u64,
    /// What it is made of.
    pub(super) joined: Joined,
}

/// Gaps without an event since the last tick: the next one may show their cause.
#[derive(Debug, Clone, Copy)]
struct Pending {
    eventless_ns: u64,
    /// Begin and unexplained time of the longest.
    longest: (u64, u64),
}

/// The record of one CPU.
#[derive(Debug, Clone)]
pub(super) struct Record {
    /// Gaps are longer than this, ns.
    pub(super) threshold_ns: u64,
    /// Begin and end of the loop, ns.
    pub(super) began_ns: u64,
    pub(super) ended_ns: u64,
    bin_ns: u64,
    /// Readings of the clock.
    pub(super) steps: u64,
    /// Time that the loop took to keep gaps, ns; it is in no gap.
    pub(super) keeping_ns: u64,
    /// Gaps, and their length, ns.
    pub(super) gaps: u64,
    pub(super) gap_ns: u64,
    pub(super) longest_ns: u64,
    /// Gaps longer than each of [`EDGES_NS`].
    pub(super) above: [u64; EDGES_NS.len()],
    pub(super) lengths: Distribution,
    pub(super) bins: [Bin; BINS],
    pub(super) rows: [Row; ROWS],
    /// Events in steps that are no gap, and their time, ns.
    pub(super) small_events: [u64; Source::ALL.len()],
    pub(super) small_net_ns: u64,
    /// Steal that the tick reported and that fits into no gap, ns.
    pub(super) unplaced_steal_ns: u64,
    /// Gaps with switches, not all of which were reported to the kernel's programs: their rest is taken for other tasks.
    pub(super) gaps_unsure: u64,
    /// Gaps at whose end the record could not be read in quiet.
    pub(super) unsettled: u64,
    /// What the kernel counted beyond the lengths of gaps, ns.
    pub(super) beyond_ns: u64,
    /// Whether the loop was moved to another CPU: then it ended where it was last on its own.
    pub(super) left: bool,
    pub(super) longest: [Gap; LONGEST],
    pub(super) longest_len: usize,
    pending: Pending,
}

const NO_ROW: Row = Row {
    gaps: 0,
    events: 0,
    net_ns: 0,
    around_ns: 0,
    longest_gap_ns: 0,
    alone: 0,
    alone_gap_ns: 0,
    alone_net_ns: 0,
};

impl Record {
    /// An empty one.
    pub(super) fn new(threshold_ns: u64) -> Self {
        Self {
            threshold_ns,
            began_ns: 0,
            ended_ns: 0,
            bin_ns: 1,
            steps: 0,
            keeping_ns: 0,
            gaps: 0,
            gap_ns: 0,
            longest_ns: 0,
            above: [0; EDGES_NS.len()],
            lengths: Distribution::with_room(),
            bins: [Bin { gap_ns: 0, longest_ns: 0 }; BINS],
            rows: [NO_ROW; ROWS],
            small_events: [0; Source::ALL.len()],
            small_net_ns: 0,
            unplaced_steal_ns: 0,
            gaps_unsure: 0,
            unsettled: 0,
            beyond_ns: 0,
            left: false,
            longest: [Gap { began_ns: 0, joined: Joined::NONE }; LONGEST],
            longest_len: 0,
            pending: Pending { eventless_ns: 0, longest: (0, 0) },
        }
    }

    /// Begins a window. Its memory is the old one: what was written once is there.
    pub(super) fn begin(&mut self, at_ns: u64, until_ns: u64) {
        let mut lengths = std::mem::take(&mut self.lengths);
        lengths.clear();
        *self = Self { lengths, ..Self::new(self.threshold_ns) };
        self.began_ns = at_ns;
        self.bin_ns = until_ns.saturating_sub(at_ns).div_ceil(BINS as u64).max(1);
    }

    /// Length of a bin, ns.
    pub(super) fn bin_ns(&self) -> u64 {
        self.bin_ns
    }

    /// A step of the loop that is no gap, in which something was counted.
    pub(super) fn add_small(&mut self, seen: &CpuSums) {
        for (sum, count) in self.small_events.iter_mut().zip(&seen.counts) {
            *sum += count;
        }
        self.small_net_ns += seen.net_ns.iter().sum::<u64>();
        if seen.counts[Source::Tick as usize] > 0 {
            let left_ns = self.place_steal(seen.steal_ns);
            self.unplaced_steal_ns += left_ns;
        }
    }

    /// A gap, with what was counted inside.
    pub(super) fn add_gap(&mut self, began_ns: u64, length_ns: u64, seen: CpuSums) {
        let ticked = seen.counts[Source::Tick as usize] > 0;
        let stolen_ns = if ticked { self.place_steal(seen.steal_ns) } else { seen.steal_ns };
        let joined = Joined::of(length_ns, seen, stolen_ns);
        self.gaps_unsure += u64::from(!seen.loop_is_known && seen.switches > 0);
        self.unplaced_steal_ns += stolen_ns - joined.net_ns[STEAL];
        self.beyond_ns += joined.beyond_ns;
        let eventless_ns = joined.net_ns[UNEXPLAINED];
        self.pending.eventless_ns += eventless_ns;
        if eventless_ns > self.pending.longest.1 {
            self.pending.longest = (began_ns, eventless_ns);
        }
        self.count(began_ns, length_ns);
        self.book(&joined);
        self.keep(Gap { began_ns, joined });
    }

    /// Books steal that a tick reports to the gaps since the last tick that nothing else explains; returns what is left.
    fn place_steal(&mut self, steal_ns: u64) -> u64 {
        let placed_ns = steal_ns.min(self.pending.eventless_ns);
        if placed_ns > 0 {
            self.rows[UNEXPLAINED].net_ns -= placed_ns;
            self.rows[STEAL].net_ns += placed_ns;
            self.rows[STEAL].gaps += 1;
            self.rows[STEAL].events += 1;
            let (began_ns, eventless_ns) = self.pending.longest;
            let kept = self.longest[..self.longest_len].iter_mut().find(|gap| gap.began_ns == began_ns);
            if let Some(gap) = kept {
                let of_it_ns = placed_ns.min(eventless_ns);
                gap.joined.net_ns[UNEXPLAINED] -= of_it_ns;
                gap.joined.net_ns[STEAL] += of_it_ns;
            }
            self.rows[STEAL].longest_gap_ns =
                self.rows[STEAL].longest_gap_ns.max(placed_ns.min(eventless_ns));
        }
        self.pending = Pending { eventless_ns: 0, longest: (0, 0) };
        steal_ns - placed_ns
    }

    fn count(&mut self, began_ns: u64, length_ns: u64) {
        self.gaps += 1;
        self.gap_ns += length_ns;
        self.longest_ns = self.longest_ns.max(length_ns);
        self.lengths.insert(length_ns);
        for (above, edge_ns) in self.above.iter_mut().zip(EDGES_NS) {
            *above += u64::from(length_ns > edge_ns);
        }
        let (mut bin, mut at_ns, mut left_ns) = (self.bin_of(began_ns), began_ns, length_ns);
        self.bins[bin].longest_ns = self.bins[bin].longest_ns.max(length_ns);
        while bin + 1 < BINS {
            let ends_ns = self.began_ns + (bin as u64 + 1) * self.bin_ns;
            let here_ns = ends_ns.saturating_sub(at_ns).min(left_ns);
            self.bins[bin].gap_ns += here_ns;
            (left_ns, at_ns, bin) = (left_ns - here_ns, ends_ns, bin + 1);
            if left_ns == 0 {
                return;
            }
        }
        self.bins[bin].gap_ns += left_ns;
    }

    fn bin_of(&self, at_ns: u64) -> usize {
        ((at_ns.saturating_sub(self.began_ns) / self.bin_ns) as usize).min(BINS - 1)
    }

    fn book(&mut self, joined: &Joined) {
        for (number, row) in self.rows.iter_mut().enumerate().filter(|(number, _)| joined.has(*number)) {
            row.gaps += 1;
            row.events += joined.events(number);
            row.net_ns += joined.net_ns[number];
            row.around_ns += joined.around_ns[number];
            row.longest_gap_ns = row.longest_gap_ns.max(joined.length_ns);
        }
        if let Some(only) = joined.only_source() {
            self.rows[only].alone += 1;
            self.rows[only].alone_gap_ns += joined.length_ns;
            self.rows[only].alone_net_ns += joined.net_ns[only];
        }
    }

    fn keep(&mut self, gap: Gap) {
        if self.longest_len < LONGEST {
            self.longest[self.longest_len] = gap;
            self.longest_len += 1;
            return;
        }
        let shortest = self.longest.iter_mut().min_by_key(|kept| kept.joined.length_ns);
        if let Some(shortest) = shortest.filter(|kept| kept.joined.length_ns < gap.joined.length_ns) {
            *shortest = gap;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: usize = Source::Tick as usize;

    fn tick(net_ns: u64, steal_ns: u64) -> CpuSums {
        let mut seen = CpuSums { steal_ns, ..CpuSums::NONE };
        (seen.counts[TICK], seen.net_ns[TICK]) = (1, net_ns);
        seen
    }

    fn begun() -> Record {
        let mut record = Record::new(1_000);
        record.begin(1_000_000, 1_000_000 + 1_200_000);
        record
    }

    fn sum_of_rows(record: &Record) -> u64 {
        record.rows.iter().map(|row| row.net_ns + row.around_ns).sum()
    }

    #[test]
    fn rows_and_bins_add_up_to_the_gaps() {
        let mut record = begun();
        record.add_gap(1_001_000, 20_000, tick(8_000, 0));
        record.add_gap(1_105_000, 2_000, CpuSums::NONE);
        record.add_gap(2_195_000, 150_000, tick(8_000, 0));
        assert_eq!((record.gaps, record.gap_ns, record.above), (3, 172_000, [3, 2, 1, 0]));
        assert_eq!(sum_of_rows(&record), 172_000);
        assert_eq!(record.bins.iter().map(|bin| bin.gap_ns).sum::<u64>(), 172_000);
        assert_eq!(
            (record.bins[0].gap_ns, record.bins[1].gap_ns, record.bins[2].gap_ns),
            (9_000, 10_000, 1_000)
        );
        assert_eq!(record.bins[119], Bin { gap_ns: 150_000, longest_ns: 150_000 });
        assert_eq!(
            (record.rows[TICK].gaps, record.rows[TICK].alone, record.rows[UNEXPLAINED].gaps),
            (2, 2, 1)
        );
        assert_eq!(record.lengths.count(), 3);
    }

    #[test]
    fn steal_goes_to_the_gaps_without_an_event_before_the_tick_that_tells_of_it() {
        let mut record = begun();
        record.add_gap(1_100_000, 50_000, CpuSums::NONE);
        record.add_gap(1_200_000, 4_000, CpuSums::NONE);
        record.add_gap(1_300_000, 20_000, tick(8_000, 52_000));
        assert_eq!((record.rows[STEAL].net_ns, record.rows[UNEXPLAINED].net_ns), (52_000, 2_000));
        assert_eq!(record.rows[TICK].around_ns, 12_000);
        assert_eq!(record.longest[0].joined.net_ns[STEAL], 50_000);
        // What a tick finds has nothing to do with gaps before the tick before.
        record.add_gap(1_400_000, 30_000, tick(8_000, 5_000));
        assert_eq!((record.rows[STEAL].net_ns, record.rows[TICK].around_ns), (57_000, 12_000 + 17_000));
        record.add_small(&tick(500, 700));
        assert_eq!(
            (record.unplaced_steal_ns, record.small_events[TICK], sum_of_rows(&record)),
            (700, 1, 104_000)
        );
    }

    #[test]
    fn the_longest_are_kept() {
        let mut record = begun();
        for length_ns in (0..100).map(|n| 1_001 + (n * 37) % 100) {
            record.add_gap(1_000_000 + length_ns * 7, length_ns, CpuSums::NONE);
        }
        let mut kept: Vec<u64> = record.longest.iter().map(|gap| gap.joined.length_ns).collect();
        kept.sort_unstable();
        assert_eq!(kept, (1_085..=1_100).collect::<Vec<u64>>());
    }

    #[test]
    fn a_new_window_forgets_the_old_one() {
        let mut record = begun();
        record.add_gap(1_100_000, 50_000, CpuSums::NONE);
        record.begin(5_000_000, 6_200_000);
        assert_eq!((record.gaps, record.lengths.count(), sum_of_rows(&record)), (0, 0, 0));
        assert_eq!(record.bin_ns(), 10_000);
    }
}
