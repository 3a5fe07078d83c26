//! Reading what the programs count of each CPU, and nothing again that has not changed: most of what a reading costs is waiting for memory
//! that programs on another CPU have written.

use std::mem::offset_of;
use std::ops::Range;
use std::sync::Arc;

use super::distribution::step_of;
use super::group::{self, CpuOf, Group};
use super::snapshot::Cpus;
use crate::bpf::{CpuHead, CpuSeen, Mapped, Record as _, SOURCES, SourceSeen, SourceSteps, Tally};

/// The tables that are read.
#[derive(Clone, Copy)]
pub(super) struct CpuTables<'a> {
    /// By CPU.
    pub(super) records: &'a Mapped<CpuSeen>,
    /// As many rows for each source as there are records.
    pub(super) steps: &'a Mapped<SourceSteps>,
}

/// CPUs, and how they were at the last reading.
pub(super) struct Reader {
    /// Numbers, ascending.
    cpus: Vec<u32>,
    /// Of each of them, in the same order.
    looked: Vec<Looked>,
    /// The first so many of them, the next ...
    groups: Vec<Arc<Group>>,
}

/// What the last reading found on a CPU.
#[derive(Debug, Clone, Default)]
struct Looked {
    /// The words that tell whether anything happened.
    telling: Telling,
    /// Whether anything had since the reading before.
    changed: bool,
    /// Whether all of it was read after what these words told had happened. A reading may come between two words that belong
    /// together; by the next one both are there.
    settled: bool,
    /// Whether the last reading holds.
    still: bool,
    /// A bit for each source that had come since the reading before.
    fresh: u32,
    /// A bit for each that was caught while it was being written.
    torn: u32,
}

/// The words at the beginning of a CPU's record of which one changes whenever anything does that is told of it.
type Telling = [u64; offset_of!(CpuHead, idle_state) / 8];

impl Reader {
    /// For these CPUs, of which there are records; in ascending order.
    pub(super) fn of(cpus: Vec<u32>) -> Self {
        let groups = (0..cpus.len().div_ceil(group::CPUS)).map(|_| Arc::default()).collect();
        Self { looked: vec![Looked::default(); cpus.len()], groups, cpus }
    }

    /// Reads; `began_ns` is when the reading began, for what nothing happened on since the last one, and `now` tells the time for all
    /// else.
    pub(super) fn read(&mut self, tables: CpuTables<'_>, began_ns: u64, now: impl Fn() -> u64) -> Cpus {
        let mut read = Cpus::with_room(self.groups.len());
        for group in 0..self.groups.len() {
            self.expect_telling(tables.records, self.places_of(group + GROUPS_AHEAD));
            let places = self.places_of(group);
            let looked = self.cpus[places.clone()].iter().zip(&mut self.looked[places.clone()]);
            // All of them: each is to be looked at.
            let still = looked.fold(true, |still, (cpu, looked)| looked.look(*cpu, tables.records) & still);
            if !still {
                self.groups[group] = Arc::new(self.read_group(group, places, tables, began_ns, &now));
            }
            read.push(&self.groups[group], if still { began_ns } else { 0 });
        }
        read
    }

    fn read_group(
        &mut self,
        group: usize,
        places: Range<usize>,
        tables: CpuTables<'_>,
        began_ns: u64,
        now: &impl Fn() -> u64,
    ) -> Group {
        let last = Arc::clone(&self.groups[group]);
        let mut fresh = Group::with_room_of(&last);
        for place in places.clone() {
            self.expect(tables, place + CPUS_AHEAD);
            let (cpu, looked) = (self.cpus[place], &mut self.looked[place]);
            match last.at(place - places.start) {
                // Where nothing happened since the last reading, it was so when this one began as well.
                Some(last) if looked.still => fresh.copy(last, began_ns),
                last => looked.read(cpu, last, tables, &mut fresh, now),
            }
        }
        fresh
    }

    /// The places of the CPUs of a group; none of one that is not there.
    fn places_of(&self, group: usize) -> Range<usize> {
        let first_of = |group: usize| (group * group::CPUS).min(self.cpus.len());
        first_of(group)..first_of(group + 1)
    }

    /// Has the processor fetch what tells whether anything happened on these CPUs; it does not wait for it.
    fn expect_telling(&self, records: &Mapped<CpuSeen>, places: Range<usize>) {
        self.cpus[places].iter().for_each(|cpu| records.expect(*cpu as usize, 0));
    }

    /// The same of what will be read of a CPU, if the same sources come there as the last time when something did.
    fn expect(&self, tables: CpuTables<'_>, place: usize) {
        let Some(looked) = self.looked.get(place).filter(|looked| looked.changed) else { return };
        let cpu = self.cpus[place] as usize;
        (0..size_of::<CpuHead>()).step_by(LINE).for_each(|line| tables.records.expect(cpu, line));
        let Some(last) = self.groups[place / group::CPUS].at(place % group::CPUS) else { return };
        for source in last.sources_seen().filter(|source| looked.fresh & 1 << source.number() != 0) {
            tables.records.expect(cpu, place_of(source.number()));
            let steps = source.steps();
            let lines = steps.start * STEP / LINE * LINE..steps.end * STEP;
            lines
                .step_by(LINE)
                .for_each(|line| tables.steps.expect(tables.row_of(source.number(), cpu), line));
        }
    }
}

impl Looked {
    /// Looks whether anything has happened on the CPU since the last reading. Whether that holds.
    fn look(&mut self, cpu: u32, records: &Mapped<CpuSeen>) -> bool {
        let same = records.begins_with(cpu as usize, &self.telling);
        let was_settled = std::mem::replace(&mut self.settled, same);
        self.changed = !same;
        self.still = same && was_settled && self.torn == 0;
        self.still
    }

    /// Reads the CPU as it was between two events.
    fn read(
        &mut self,
        cpu: u32,
        last: Option<CpuOf<'_>>,
        tables: CpuTables<'_>,
        fresh: &mut Group,
        now: &impl Fn() -> u64,
    ) {
        let (mut head, sources) = (CpuHead::zeroed(), fresh.sources());
        let torn = self.torn;
        for _ in 0..TRIES {
            fresh.forget(sources);
            tables.records.copy_part(cpu as usize, 0, &mut head);
            self.read_sources(cpu as usize, &head, last, torn, tables, fresh);
            self.telling = telling_of(&head);
            if tables.records.begins_with(cpu as usize, &self.telling) {
                break;
            }
        }
        // Settled only if nothing happened either between the look at the first words and this reading.
        self.settled &= last.is_some_and(|last| *last.head() == head);
        fresh.add(cpu, now(), &head, sources);
    }

    /// Reads those sources that came since the last reading, and takes the others from there.
    fn read_sources(
        &mut self,
        cpu: usize,
        head: &CpuHead,
        last: Option<CpuOf<'_>>,
        torn: u32,
        tables: CpuTables<'_>,
        to: &mut Group,
    ) {
        let came = last.map_or([0; SOURCES], |last| last.head().came);
        let differs = |source: &usize| head.came[*source] != came[*source];
        self.fresh = (0..SOURCES).filter(differs).fold(torn, |bits, source| bits | 1 << source);
        self.torn = 0;
        let mut known = last.into_iter().flat_map(|last| last.sources_seen()).peekable();
        for source in 0..SOURCES {
            let known = known.next_if(|known| known.number() == source);
            if self.fresh & 1 << source == 0 {
                known.into_iter().for_each(|known| to.copy_source(known));
                continue;
            }
            let mut seen = SourceSeen::zeroed();
            tables.records.copy_part(cpu, place_of(source), &mut seen);
            self.torn |= u32::from(seen.all.count as u32 != head.came[source]) << source;
            let Some((first, last)) = steps_of(&seen.all) else { continue };
            let row = tables.row_of(source, cpu);
            to.push(source, &seen, first, |to| tables.steps.append(row, first..=last, to));
        }
    }
}

impl CpuTables<'_> {
    /// The row of a source in the table of lengths.
    fn row_of(&self, source: usize, cpu: usize) -> usize {
        source * self.records.len() + cpu
    }
}

/// How often a record is read when it changes meanwhile. A program in the kernel is done within a us.
const TRIES: usize = 100;

/// How many groups and CPUs ahead they are fetched.
const GROUPS_AHEAD: usize = 2;
const CPUS_AHEAD: usize = 1;

/// Bytes of a line of the cache, wherever this runs; only what is fetched ahead depends on it.
const LINE: usize = 64;

/// Bytes of a step.
const STEP: usize = size_of::<u32>();

fn telling_of(head: &CpuHead) -> Telling {
    // Two numbers of 32 bits are one of the words.
    let [a, b, c, d] = head.untold.to_ne_bytes();
    let [e, f, g, h] = head.moved.to_ne_bytes();
    [head.switches, head.interrupted_ns, u64::from_ne_bytes([a, b, c, d, e, f, g, h])]
}

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
mod tests;
