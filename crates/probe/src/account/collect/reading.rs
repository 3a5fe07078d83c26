//! Reading what the programs count of each CPU, and nothing again that has not changed: most of what a reading costs is waiting for memory
//! that programs on another CPU have written.

use std::mem::offset_of;
use std::sync::Arc;

use super::bit_sets::{differing, first_bits, numbers_in};
use super::cpu_group::{self, Group, lines_of};
use super::snapshot::Cpus;
use crate::bpf::{CpuHead, CpuTables, SOURCES, STEPS_LINES};

/// CPUs, and how they were at the last reading.
pub(in crate::account) struct Reader {
    /// The first so many of them, the next ... in ascending order of their numbers.
    parts: Vec<Part>,
}

/// Whether the lengths of what interrupted are read: half of what a reading costs where everything came everywhere.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::account) enum Lengths {
    Read,
    /// They are left as they were at the last reading that had them.
    Left,
}

/// CPUs that are read together, one table after the other: what a table has of them lies side by side, which the processor fetches by itself.
struct Part {
    cpus: Vec<u32>,
    /// By place: the words that show whether anything happened, as they were at the last reading.
    change_words: Vec<ChangeWords>,
    /// By place, a bit for each source that was caught while it was being written.
    torn: Vec<u32>,
    /// The same of those whose lengths were not read when the rest of them was.
    behind: Vec<u32>,
    /// Those that changed since lengths were read last.
    changed: Places,
    /// Those of which all was read after what these words showed had happened. A reading may come between two words that belong
    /// together; by the next one both are there.
    settled: Places,
    /// Those of which the last reading holds.
    still: Places,
    /// The next reading is written in the place of the last one, where nobody has that any more: other memory would be as dear as
    /// what is read.
    read: Arc<Group>,
}

/// A bit for each place in a part.
type Places = u64;

/// The words at the beginning of a CPU's record of which one changes whenever anything of it does.
type ChangeWords = [u64; offset_of!(CpuHead, idle_state) / 8];

impl Reader {
    /// For these CPUs, of which there are records; in ascending order.
    pub(in crate::account) fn of(cpus: Vec<u32>) -> Self {
        Self { parts: cpus.chunks(cpu_group::CPUS).map(Part::of).collect() }
    }

    /// Reads; `began_ns` is when the reading began, for what nothing happened on since the last one, and `now` gives the time for all
    /// else. Without their lengths all that came is counted and summed up still: how long each was is read by the next reading that has them.
    pub(in crate::account) fn read(
        &mut self,
        tables: &CpuTables,
        lengths: Lengths,
        began_ns: u64,
        now: impl Fn() -> u64,
    ) -> Cpus {
        let mut read = Cpus::with_room(self.parts.len());
        for part in &mut self.parts {
            part.look(tables, lengths);
            let is_still = part.still == part.all();
            if !is_still {
                part.read(tables, lengths, began_ns, &now);
            }
            read.push(&part.read, if is_still { began_ns } else { 0 });
        }
        read
    }

    /// The CPUs on which anything may have happened since this was asked last.
    pub(in crate::account) fn changed(&mut self) -> impl Iterator<Item = u32> {
        self.parts.iter_mut().flat_map(|part| {
            let changed = std::mem::take(&mut part.changed);
            numbers_in(changed).map(|place| part.cpus[place])
        })
    }

    /// All CPUs, ascending.
    pub(in crate::account) fn cpus(&self) -> impl Iterator<Item = u32> {
        self.parts.iter().flat_map(|part| &part.cpus).copied()
    }
}

impl Part {
    fn of(cpus: &[u32]) -> Self {
        Self {
            cpus: cpus.to_vec(),
            change_words: vec![ChangeWords::default(); cpus.len()],
            torn: vec![0; cpus.len()],
            behind: vec![0; cpus.len()],
            changed: 0,
            settled: 0,
            still: 0,
            read: Arc::new(Group::of(cpus)),
        }
    }

    fn all(&self) -> Places {
        first_bits(self.cpus.len())
    }

    /// Looks whether anything has happened on each CPU since the last reading.
    fn look(&mut self, tables: &CpuTables, lengths: Lengths) {
        let (same, was_settled) = (self.as_told(self.all(), tables), self.settled);
        self.settled = same;
        self.still = same & was_settled & !places_of(&self.torn);
        self.changed |= self.all() & !self.still;
        if lengths == Lengths::Read {
            self.still &= !places_of(&self.behind);
        }
    }

    /// Those of these places whose records begin with the words that were read last.
    fn as_told(&self, places: Places, tables: &CpuTables) -> Places {
        numbers_in(places).fold(0, |same, place| {
            let is_same = tables.records.begins_with(self.cpus[place] as usize, &self.change_words[place]);
            same | u64::from(is_same) << place
        })
    }

    /// Reads the CPUs that are not as they were, each as it was between two events.
    fn read(&mut self, tables: &CpuTables, lengths: Lengths, began_ns: u64, now: &impl Fn() -> u64) {
        let wanted = self.all() & !self.still;
        let seem_settled: Vec<_> =
            numbers_in(self.settled & wanted).map(|place| (place, *self.read.head(place))).collect();
        // Nothing happened since the last reading: it was so when this one began as well.
        self.set_at_ns(self.still, began_ns);
        let mut moved = wanted;
        for _ in 0..TRIES {
            self.read_places(moved, tables, lengths);
            self.set_at_ns(moved, now());
            moved &= !self.as_told(moved, tables);
            if moved == 0 {
                break;
            }
        }
        // Settled only if nothing happened either between the look at the first words and this reading.
        for (place, head) in seem_settled {
            self.settled &= !(u64::from(*self.read.head(place) != head) << place);
        }
    }

    fn set_at_ns(&mut self, places: Places, at_ns: u64) {
        let group = Arc::make_mut(&mut self.read);
        numbers_in(places).for_each(|place| group.set_at_ns(place, at_ns));
    }

    /// Reads the records of these CPUs, and of the sources those that have come since that was done last.
    fn read_places(&mut self, places: Places, tables: &CpuTables, lengths: Lengths) {
        let mut fresh = [0; SOURCES];
        let group = Arc::make_mut(&mut self.read);
        for place in numbers_in(places) {
            let head = group.head_mut(place);
            let before = head.came;
            tables.copy_head(self.cpus[place] as usize, head);
            self.change_words[place] = change_words_of(head);
            let mut sources = std::mem::take(&mut self.torn[place]) | differing(&head.came, &before);
            match lengths {
                Lengths::Read => sources |= std::mem::take(&mut self.behind[place]),
                Lengths::Left => self.behind[place] |= sources,
            }
            numbers_in(sources).for_each(|source| fresh[source] |= 1 << place);
        }
        for (source, places) in fresh.into_iter().enumerate().filter(|(_, places)| *places != 0) {
            self.read_source(source, places, tables);
            if lengths == Lengths::Read {
                self.read_lengths(source, places, tables);
            }
        }
    }

    /// Reads what a source did on these CPUs.
    fn read_source(&mut self, source: usize, places: Places, tables: &CpuTables) {
        let group = Arc::make_mut(&mut self.read);
        let seen = group.source_mut(source);
        for place in numbers_in(places) {
            tables.copy_source(source, self.cpus[place] as usize, &mut seen[place]);
        }
        for place in numbers_in(places) {
            let count = group.source_mut(source)[place].all.count;
            let is_torn = count as u32 != group.head(place).came[source];
            self.torn[place] |= u32::from(is_torn) << source;
        }
    }

    /// Reads the lines of its steps that it has there.
    fn read_lengths(&mut self, source: usize, places: Places, tables: &CpuTables) {
        let group = Arc::make_mut(&mut self.read);
        let mut with_line: [Places; STEPS_LINES] = [0; STEPS_LINES];
        for place in numbers_in(places) {
            let all = group.source_mut(source)[place].all;
            lines_of(&all).for_each(|line| with_line[line] |= 1 << place);
        }
        for (line, places) in with_line.into_iter().enumerate().filter(|(_, places)| *places != 0) {
            let steps = group.steps_mut(source, line);
            for place in numbers_in(places) {
                tables.copy_steps(source, self.cpus[place] as usize, line, &mut steps[place]);
            }
        }
    }
}

/// How often a record is read when it changes meanwhile. A program in the kernel is done within a us.
const TRIES: usize = 100;

/// Those that have any source.
fn places_of(sources: &[u32]) -> Places {
    let sources = sources.iter().enumerate();
    sources.fold(0, |places, (place, sources)| places | u64::from(*sources != 0) << place)
}

fn change_words_of(head: &CpuHead) -> ChangeWords {
    // Two numbers of 32 bits are one of the words.
    let [a, b, c, d] = head.unreported.to_ne_bytes();
    let [e, f, g, h] = head.moved.to_ne_bytes();
    [head.switches, head.interrupted_ns, u64::from_ne_bytes([a, b, c, d, e, f, g, h])]
}

#[cfg(test)]
mod tests;
