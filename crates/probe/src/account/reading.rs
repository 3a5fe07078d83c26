//! Reading what the programs count of each CPU, and nothing again that has not changed: most of what a reading costs is waiting for memory
//! that programs on another CPU have written.

use std::mem::offset_of;
use std::ops::Range;
use std::sync::Arc;

use super::bits::{differing, is_in, numbers_in};
use super::group::{self, Group};
use super::snapshot::Cpus;
use crate::bpf::{CpuHead, CpuSeen, CpuTables, LINE, Mapped, expect_all};

/// CPUs, and how they were at the last reading.
pub(super) struct Reader {
    /// Numbers, ascending.
    cpus: Vec<u32>,
    /// Of each of them, in the same order.
    looked: Vec<Looked>,
    /// The first so many of them, the next ... The next reading is written in the place of the last one, where nobody has that any more: other
    /// memory would be as dear as what is read.
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
        Self {
            looked: vec![Looked::default(); cpus.len()],
            groups: cpus.chunks(group::CPUS).map(|cpus| Arc::new(Group::of(cpus))).collect(),
            cpus,
        }
    }

    /// Reads; `began_ns` is when the reading began, for what nothing happened on since the last one, and `now` tells the time for all
    /// else.
    pub(super) fn read(&mut self, tables: &CpuTables, began_ns: u64, now: impl Fn() -> u64) -> Cpus {
        let mut read = Cpus::with_room(self.groups.len());
        for group in 0..self.groups.len() {
            self.expect_telling(&tables.records, self.places_of(group + GROUPS_AHEAD));
            self.expect_group(group);
            let places = self.places_of(group);
            let looked = self.cpus[places.clone()].iter().zip(&mut self.looked[places.clone()]);
            // All of them: each is to be looked at.
            let still = looked.fold(true, |still, (cpu, looked)| looked.look(*cpu, &tables.records) & still);
            if !still {
                self.read_group(group, places, tables, began_ns, &now);
            }
            read.push(&self.groups[group], if still { began_ns } else { 0 });
        }
        read
    }

    /// The CPUs on which anything may have happened between the last reading and the one before.
    pub(super) fn changed(&self) -> impl Iterator<Item = u32> {
        let looked = self.cpus.iter().zip(&self.looked);
        looked.filter(|(_, looked)| !looked.still).map(|(cpu, _)| *cpu)
    }

    /// All CPUs, ascending.
    pub(super) fn cpus(&self) -> impl Iterator<Item = u32> {
        self.cpus.iter().copied()
    }

    fn read_group(
        &mut self,
        group: usize,
        places: Range<usize>,
        tables: &CpuTables,
        began_ns: u64,
        now: &impl Fn() -> u64,
    ) {
        for (place, at) in places.enumerate() {
            self.expect(tables, at + CPUS_AHEAD);
            let (cpu, looked) = (self.cpus[at] as usize, &mut self.looked[at]);
            let group = Arc::make_mut(&mut self.groups[group]);
            if looked.still {
                // Nothing happened since the last reading: it was so when this one began as well.
                group.set_at_ns(place, began_ns);
            } else {
                looked.read(cpu, tables, group, place);
                group.set_at_ns(place, now());
            }
        }
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

    /// The same of the last readings of the groups that follow, each part when it is known where it lies.
    fn expect_group(&self, group: usize) {
        if let Some(next) = self.groups.get(group + GROUPS_AHEAD + 1) {
            expect_all(std::slice::from_ref(&**next));
        }
        let changed = |group: &usize| self.looked[self.places_of(*group)].iter().any(|looked| looked.changed);
        if let Some(next) = Some(group + GROUPS_AHEAD).filter(changed) {
            self.groups.get(next).into_iter().for_each(|next| next.expect_places());
        }
    }

    /// The same of what will be read of a CPU, if the same sources come there as the last time when something did.
    fn expect(&self, tables: &CpuTables, place: usize) {
        let Some(looked) = self.looked.get(place).filter(|looked| looked.changed) else { return };
        let cpu = self.cpus[place] as usize;
        (0..size_of::<CpuHead>()).step_by(LINE).for_each(|line| tables.records.expect(cpu, line));
        let last = &self.groups[place / group::CPUS];
        last.expect(place % group::CPUS, looked.fresh);
        let last = last.at(place % group::CPUS);
        for source in last.sources_seen().filter(|source| is_in(looked.fresh, source.number())) {
            tables.expect_source(source.number(), cpu, source.lines());
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

    /// Reads the CPU as it was between two events, to its place in a group, where it is as it was at the last reading.
    fn read(&mut self, cpu: usize, tables: &CpuTables, group: &mut Group, place: usize) {
        let last = *group.at(place).head();
        let torn = self.torn;
        for _ in 0..TRIES {
            let head = group.head_mut(place);
            tables.copy_head(cpu, head);
            self.telling = telling_of(head);
            self.fresh = torn | differing(&head.came, &last.came);
            self.torn = read_sources(cpu, self.fresh, tables, group, place);
            if tables.records.begins_with(cpu, &self.telling) {
                break;
            }
        }
        // Settled only if nothing happened either between the look at the first words and this reading.
        self.settled = self.settled && last == *group.at(place).head();
    }
}

/// Reads these sources of a CPU. A bit for each that was caught while it was being written.
fn read_sources(cpu: usize, sources: u32, tables: &CpuTables, group: &mut Group, place: usize) -> u32 {
    numbers_in(sources).fold(0, |torn, source| {
        let count = group.read_source(
            place,
            source,
            |seen| tables.copy_source(source, cpu, seen),
            |lines, steps| tables.copy_steps(source, cpu, lines, steps),
        );
        torn | u32::from(count as u32 != group.at(place).head().came[source]) << source
    })
}

/// How often a record is read when it changes meanwhile. A program in the kernel is done within a us.
const TRIES: usize = 100;

/// How many groups and CPUs ahead they are fetched.
const GROUPS_AHEAD: usize = 2;
const CPUS_AHEAD: usize = 2;

fn telling_of(head: &CpuHead) -> Telling {
    // Two numbers of 32 bits are one of the words.
    let [a, b, c, d] = head.untold.to_ne_bytes();
    let [e, f, g, h] = head.moved.to_ne_bytes();
    [head.switches, head.interrupted_ns, u64::from_ne_bytes([a, b, c, d, e, f, g, h])]
}

#[cfg(test)]
mod tests;
