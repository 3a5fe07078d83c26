//! What interrupted each CPU, source by source, as it was read.

use std::mem::offset_of;
use std::sync::Arc;

use super::distribution::{Distribution, step_of};
use super::source::Source;
use crate::bpf::{CpuHead, CpuSeen, Mapped, Record as _, SOURCES, SourceSeen, SourceSteps, Tally};

/// The sources that came on a CPU. Of the lengths of each only the steps from its shortest to its longest are kept: the others are
/// empty, and all of them would be 13 MB on 1,024 CPUs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Sources {
    /// In the order of their numbers.
    rows: Vec<Row>,
    /// How many fell into each step, row after row.
    counts: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Row {
    source: usize,
    seen: SourceSeen,
    /// The first step that is kept.
    step: usize,
    /// Where it stands in `counts`.
    from: usize,
    to: usize,
}

impl Sources {
    /// What they did, and how long at a time.
    pub(super) fn iter(&self) -> impl Iterator<Item = (Source, &SourceSeen, Distribution)> {
        self.rows.iter().map(|row| {
            (Source::ALL[row.source], &row.seen, Distribution::from(row.step, &self.counts[row.from..row.to]))
        })
    }

    fn push(&mut self, source: usize, seen: SourceSeen, step: usize, append: impl FnOnce(&mut Vec<u32>)) {
        let from = self.counts.len();
        append(&mut self.counts);
        self.rows.push(Row { source, seen, step, from, to: self.counts.len() });
    }
}

/// One CPU at the last reading. What did not happen since is taken from there: most of what a reading costs is waiting for memory that
/// programs on another CPU have written.
#[derive(Debug, Clone, Default)]
pub(super) struct LastRead {
    /// `None` where it was not read yet.
    head: Option<Arc<CpuHead>>,
    /// Whether anything had happened on it since the reading before.
    changed: bool,
    /// Whether all of it was read after what its first lines told had happened. A reading may come between two words that belong
    /// together; by the next one both are there.
    settled: bool,
    /// How often each source had come.
    came: [u32; SOURCES],
    /// A bit for each that had come since the reading before.
    fresh: u32,
    /// A bit for each that was caught while it was being written.
    torn: u32,
    sources: Arc<Sources>,
}

impl LastRead {
    /// Has fetched what will be read of a CPU, if as much happens on it as did before the last reading.
    pub(super) fn expect(&self, cpu: usize, records: &Mapped<CpuSeen>, steps: &Mapped<SourceSteps>) {
        let bytes = if self.changed { size_of::<CpuHead>() } else { TELLING_WORDS * 8 };
        (0..bytes).step_by(LINE).for_each(|line| records.expect(cpu, line));
        if self.changed {
            self.expect_sources(cpu, self.fresh, records, steps);
        }
    }

    /// What was read last, if nothing has happened on the CPU since.
    pub(super) fn still(
        &mut self,
        cpu: usize,
        records: &Mapped<CpuSeen>,
    ) -> Option<(Arc<CpuHead>, Arc<Sources>)> {
        let head = self.head.as_ref().filter(|head| records.begins_with(cpu, &***head, TELLING_WORDS));
        self.changed = head.is_none();
        let was_settled = std::mem::replace(&mut self.settled, !self.changed);
        let head = head.filter(|_| was_settled && self.torn == 0)?;
        Some((Arc::clone(head), Arc::clone(&self.sources)))
    }

    /// Keeps what was read: settled only if nothing happened either between the look at its first lines and this reading.
    pub(super) fn keep(&mut self, head: &Arc<CpuHead>) {
        self.settled &= self.head.as_ref() == Some(head);
        self.head = Some(Arc::clone(head));
    }

    /// What has come on a CPU whose head has just been read.
    pub(super) fn update(
        &mut self,
        cpu: usize,
        head: &CpuHead,
        records: &Mapped<CpuSeen>,
        steps: &Mapped<SourceSteps>,
    ) -> Arc<Sources> {
        let differs = |source: &usize| head.came[*source] != self.came[*source];
        let fresh = (0..SOURCES).filter(differs).fold(self.torn, |bits, source| bits | 1 << source);
        if fresh != 0 {
            self.expect_sources(cpu, fresh & !self.fresh, records, steps);
            self.read_again(cpu, head, fresh, records, steps);
        }
        self.fresh = fresh;
        Arc::clone(&self.sources)
    }

    /// Has the processor fetch all at once what [`Self::read_again`] reads piece by piece.
    fn expect_sources(&self, cpu: usize, fresh: u32, records: &Mapped<CpuSeen>, steps: &Mapped<SourceSteps>) {
        (0..SOURCES)
            .filter(|source| fresh & 1 << source != 0)
            .for_each(|source| records.expect(cpu, place_of(source)));
        for row in self.sources.rows.iter().filter(|row| fresh & 1 << row.source != 0) {
            let bytes = row.step * STEP..(row.step + row.to - row.from) * STEP;
            let lines = bytes.start / LINE * LINE..bytes.end;
            lines.step_by(LINE).for_each(|line| steps.expect(cpu * SOURCES + row.source, line));
        }
    }

    fn read_again(
        &mut self,
        cpu: usize,
        head: &CpuHead,
        fresh: u32,
        records: &Mapped<CpuSeen>,
        steps: &Mapped<SourceSteps>,
    ) {
        let before = &self.sources;
        let mut now = Sources {
            rows: Vec::with_capacity(before.rows.len() + 1),
            counts: Vec::with_capacity(before.counts.len() + STEPS_MORE),
        };
        let mut known = before.rows.iter().peekable();
        self.torn = 0;
        for source in 0..SOURCES {
            let known = known.next_if(|row| row.source == source);
            if fresh & 1 << source == 0 {
                if let Some(row) = known {
                    let counts = &before.counts[row.from..row.to];
                    now.push(source, row.seen, row.step, |to| to.extend_from_slice(counts));
                }
                continue;
            }
            let mut seen = SourceSeen::zeroed();
            records.copy_part(cpu, place_of(source), &mut seen);
            self.torn |= u32::from(seen.all.count as u32 != head.came[source]) << source;
            let Some((first, last)) = steps_of(&seen.all) else { continue };
            now.push(source, seen, first, |to| steps.append(cpu * SOURCES + source, first..=last, to));
        }
        self.came = head.came;
        self.sources = Arc::new(now);
    }
}

/// Words at the beginning of a CPU's record, of which one changes whenever something is booked there or its task changes: three lines.
const TELLING_WORDS: usize = offset_of!(CpuHead, waiting_interrupted_ns) / 8;

/// Bytes of a line of the cache, wherever this runs; only what is fetched ahead depends on it.
const LINE: usize = 64;

/// Bytes of a step.
const STEP: usize = size_of::<u32>();

/// Room for steps that were not there at the last reading.
const STEPS_MORE: usize = 16;

/// Where a source lies in the record of a CPU.
fn place_of(source: usize) -> usize {
    offset_of!(CpuSeen, sources) + source * size_of::<SourceSeen>()
}

/// The steps of the shortest and of the longest; `None` where there was none.
fn steps_of(all: &Tally) -> Option<(usize, usize)> {
    // A length of 0 is told as a shortest one of 1, for there 0 stands for none.
    let first = if all.shortest_ns <= 1 { 0 } else { step_of(all.shortest_ns) };
    (all.count > 0).then(|| (first, step_of(all.longest_ns)))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::os::fd::AsFd as _;

    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

    use super::*;

    const CPUS: usize = 2;

    fn mapped<T: crate::bpf::Record>(len: usize) -> Mapped<T> {
        let memory = memfd_create("table", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&memory, 1 << 16).unwrap();
        Mapped::new("table", memory.as_fd(), len).unwrap()
    }

    /// The tables of the programs, and what they should say.
    struct Tables {
        records: Mapped<CpuSeen>,
        steps: Mapped<SourceSteps>,
        truth: BTreeMap<(usize, usize), Distribution>,
        last: [LastRead; CPUS],
    }

    impl Tables {
        fn new() -> Self {
            let (records, steps) = (mapped(CPUS), mapped(CPUS * SOURCES));
            Self { records, steps, truth: BTreeMap::new(), last: Default::default() }
        }

        /// Counts a length as the programs do; `came` is the last that they write.
        fn count(&mut self, cpu: usize, source: usize, ns: u64, came: bool) {
            let mut seen = self.records.get(cpu).unwrap();
            let all = &mut seen.sources[source].all;
            let shortest_ns = if all.count == 0 { u64::MAX } else { all.shortest_ns };
            *all = Tally {
                count: all.count + 1,
                total_ns: all.total_ns + ns,
                shortest_ns: shortest_ns.min(ns.max(1)),
                longest_ns: all.longest_ns.max(ns),
            };
            seen.head.came[source] += u32::from(came);
            self.records.set(cpu, &seen);
            let row = cpu * SOURCES + source;
            let mut record = self.steps.get(row).unwrap();
            record.steps[step_of(ns)] += 1;
            self.steps.set(row, &record);
            self.truth.entry((cpu, source)).or_default().insert(ns);
        }

        fn read(&mut self, cpu: usize) -> Arc<Sources> {
            let head = self.records.get(cpu).unwrap().head;
            self.last[cpu].update(cpu, &head, &self.records, &self.steps)
        }

        /// What is read is all that was counted.
        fn hold(&mut self) {
            for cpu in 0..CPUS {
                let read: BTreeMap<_, _> = self
                    .read(cpu)
                    .iter()
                    .map(|(source, seen, lengths)| (source, (seen.all.count, lengths)))
                    .collect();
                let of_cpu = self.truth.iter().filter(|((of, _), _)| *of == cpu);
                let truth: BTreeMap<_, _> = of_cpu
                    .map(|((_, source), all)| (Source::ALL[*source], (all.count(), all.clone())))
                    .collect();
                assert_eq!(read, truth, "CPU {cpu}");
            }
        }
    }

    #[test]
    fn what_is_kept_of_each_source_is_all_that_was_counted() {
        let mut tables = Tables::new();
        let counted = [(0, 3, [0, 1, 7_000_000]), (1, 0, [900, 900, 1_100]), (1, 19, [1 << 50, 5, 12])];
        for (cpu, source, lengths) in counted {
            lengths.into_iter().for_each(|ns| tables.count(cpu, source, ns, true));
            tables.hold();
        }
        let steps = tables.read(1).counts.len();
        assert!(steps > 4 && steps < 2 * 160, "{steps} steps");
    }

    #[test]
    fn a_reading_in_which_nothing_came_is_the_last_one() {
        let mut tables = Tables::new();
        tables.count(0, 3, 70, true);
        let first = tables.read(0);
        assert!(Arc::ptr_eq(&first, &tables.read(0)));
        tables.count(0, 4, 70, true);
        assert!(!Arc::ptr_eq(&first, &tables.read(0)));
        assert_eq!(first.rows.len(), 1, "a reading stays as it was");
        tables.hold();
    }

    #[test]
    fn a_cpu_is_read_again_when_any_of_the_words_that_tell_has_changed_and_only_then() {
        let mut tables = Tables::new();
        tables.count(0, 3, 70, true);
        let seen = tables.records.get(0).unwrap();
        assert!(tables.last[0].still(0, &tables.records).is_none(), "it was never read");
        tables.read(0);
        tables.last[0].keep(&Arc::new(seen.head));
        let now = |tables: &Tables| Arc::new(tables.records.get(0).unwrap().head);
        assert!(tables.last[0].still(0, &tables.records).is_none(), "it may have been written just then");
        tables.last[0].keep(&Arc::new(seen.head));
        assert!(tables.last[0].still(0, &tables.records).is_some());
        // Something happens after the look at the first lines, and before the rest is read.
        tables.records.set_word(0, 0, 7);
        assert!(tables.last[0].still(0, &tables.records).is_none());
        let head = now(&tables);
        tables.last[0].keep(&head);
        assert!(tables.last[0].still(0, &tables.records).is_none());
        tables.records.set_word(0, 0, 9);
        let head = now(&tables);
        tables.last[0].keep(&head);
        assert!(tables.last[0].still(0, &tables.records).is_none(), "once more");
        tables.last[0].keep(&head);
        assert!(tables.last[0].still(0, &tables.records).is_some());
        tables.records.set(0, &seen);
        tables.last[0].still(0, &tables.records);
        tables.last[0].keep(&Arc::new(seen.head));
        tables.last[0].still(0, &tables.records);
        tables.last[0].keep(&Arc::new(seen.head));
        for word in 0..TELLING_WORDS {
            let before = tables.records.word(0, word * 8).unwrap();
            tables.records.set_word(0, word * 8, before + 1);
            assert!(tables.last[0].still(0, &tables.records).is_none(), "word {word}");
            tables.records.set_word(0, word * 8, before);
            assert!(tables.last[0].still(0, &tables.records).is_none(), "word {word}, again");
            tables.last[0].keep(&Arc::new(seen.head));
            assert!(tables.last[0].still(0, &tables.records).is_some(), "word {word}, for long");
        }
        // In progress, and in no account.
        let mut waits = seen;
        waits.head.waiting_interrupted_ns += 1;
        tables.records.set(0, &waits);
        let (head, _) = tables.last[0].still(0, &tables.records).unwrap();
        assert_eq!(head.switched_at_ns, seen.head.switched_at_ns);
    }

    #[test]
    fn what_came_between_two_words_of_a_reading_is_in_the_next() {
        let mut tables = Tables::new();
        tables.count(0, 3, 70, true);
        tables.read(0);
        // The sum is there, and what came is not yet.
        let mut seen = tables.records.get(0).unwrap();
        seen.head.interrupted_ns += 900;
        tables.records.set(0, &seen);
        tables.last[0].keep(&Arc::new(seen.head));
        tables.count(0, 3, 900, true);
        assert!(tables.last[0].still(0, &tables.records).is_none());
        tables.hold();
    }

    #[test]
    fn what_was_caught_while_it_was_written_is_read_again() {
        let mut tables = Tables::new();
        tables.count(0, 3, 70, true);
        tables.hold();
        // Booked, and not yet said to be.
        tables.count(0, 3, 900, false);
        tables.count(0, 5, 30, true);
        tables.read(0);
        let mut seen = tables.records.get(0).unwrap();
        seen.head.came[3] += 1;
        tables.records.set(0, &seen);
        tables.hold();
    }

    #[test]
    fn the_order_of_two_words_that_are_seen_the_other_way_round_does_no_harm() {
        let mut tables = Tables::new();
        tables.count(0, 3, 70, true);
        let mut early = tables.records.get(0).unwrap().head;
        early.came[3] = 2;
        tables.last[0].update(0, &early, &tables.records, &tables.steps);
        tables.count(0, 3, 900, true);
        tables.hold();
    }

    #[test]
    fn a_source_that_never_came_is_not_looked_at() {
        let never = SourceSeen { all: Tally { longest_ns: 7, ..Tally::zeroed() }, ..SourceSeen::zeroed() };
        assert_eq!(steps_of(&never.all), None);
    }
}
