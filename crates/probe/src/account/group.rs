//! CPUs in a row, as they were read.

use std::ops::Range;

use super::distribution::{Distribution, step_of};
use super::source::Source;
use crate::bpf::{CpuHead, SOURCES, STEPS_IN_LINE, STEPS_LINES, SourceSeen, StepsLine, Tally};

/// CPUs in a row, with what interrupted them, in a few pieces of memory for all of them. Readings share a group where nothing happened on any
/// of its CPUs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Group {
    /// In the order of their numbers.
    cpus: Vec<CpuRead>,
    /// The kernel's records of them.
    heads: Vec<CpuHead>,
    /// CPU by CPU the sources that came there, in the order of their numbers.
    rows: Vec<Row>,
    /// What each of them did.
    seen: Vec<SourceSeen>,
    /// How many fell into each step, row by row. Of the lengths of a source only the lines from its shortest to its longest are kept:
    /// the others are empty, and all of them would be 13 MB on 1,024 CPUs.
    steps: Vec<StepsLine>,
}

/// How many CPUs are in a group. All are copied where any of them changed.
pub(super) const CPUS: usize = 8;

/// A CPU that was read.
#[derive(Debug, Clone)]
struct CpuRead {
    cpu: u32,
    at_ns: u64,
    /// The place of its record.
    head: usize,
    rows: Places,
}

/// A source that came on a CPU. Those of the last reading are gone through at each reading, and so they are apart from what they did.
#[derive(Debug, Clone, Copy)]
struct Row {
    source: u8,
    /// The first line of steps that is kept.
    first_line: u8,
    steps: Places,
}

/// Places of a vector.
#[derive(Debug, Clone, Copy)]
struct Places {
    from: u16,
    to: u16,
}

const _: () = assert!(STEPS_LINES <= u8::MAX as usize && CPUS * SOURCES * STEPS_LINES <= u16::MAX as usize);

impl Places {
    /// Those of the elements that stand there since `from`.
    fn since<T>(from: usize, all: &[T]) -> Self {
        Self { from: from as u16, to: all.len() as u16 }
    }

    fn range(self) -> Range<usize> {
        usize::from(self.from)..usize::from(self.to)
    }
}

impl Group {
    /// Without CPUs, and with the memory for them.
    pub(super) fn emptied(mut self) -> Self {
        self.cpus.clear();
        self.forget_begun();
        self
    }

    /// The number of its first CPU; `None` where it has none.
    pub(super) fn first(&self) -> Option<u32> {
        self.cpus.first().map(|read| read.cpu)
    }

    /// Its CPUs; `still_at_ns`: when it was found that nothing had happened on any, 0 where it was read.
    pub(super) fn iter(&self, still_at_ns: u64) -> impl Iterator<Item = CpuOf<'_>> {
        self.cpus.iter().map(move |read| CpuOf { read, group: self, still_at_ns })
    }

    /// The CPU at a place.
    pub(super) fn at(&self, place: usize) -> Option<CpuOf<'_>> {
        self.cpus.get(place).map(|read| CpuOf { read, group: self, still_at_ns: 0 })
    }

    /// Keeps these CPUs only, for good: none is added any more.
    pub(super) fn retain(&mut self, is_kept: impl Fn(u32) -> bool) {
        self.cpus.retain(|read| is_kept(read.cpu));
    }

    /// Begins with the CPU that is added next: `push` its record. What was taken in of it before is forgotten.
    pub(super) fn begin(&mut self, push: impl FnOnce(&mut Vec<CpuHead>)) {
        self.forget_begun();
        push(&mut self.heads);
    }

    /// The record of the CPU that was begun with.
    pub(super) fn begun(&self) -> Option<&CpuHead> {
        self.heads.get(self.cpus.len())
    }

    /// Takes in a source of that CPU: `push` what it did, and then these lines of its steps. How often it came; where it never did, there is
    /// nothing to keep.
    pub(super) fn push(
        &mut self,
        source: usize,
        push_seen: impl FnOnce(&mut Vec<SourceSeen>),
        push_steps: impl FnOnce(Range<usize>, &mut Vec<StepsLine>),
    ) -> u64 {
        push_seen(&mut self.seen);
        let Some(all) = self.seen.get(self.rows.len()).map(|seen| &seen.all) else { return 0 };
        let count = all.count;
        let Some(steps) = steps_of(all) else {
            self.seen.truncate(self.rows.len());
            return count;
        };
        let (from, lines) = (self.steps.len(), lines_of(steps));
        push_steps(lines.clone(), &mut self.steps);
        let steps = Places::since(from, &self.steps);
        self.rows.push(Row { source: source as u8, first_line: lines.start as u8, steps });
        count
    }

    /// Takes in the CPU that was begun with.
    pub(super) fn add(&mut self, cpu: u32, at_ns: u64) {
        let rows = Places::since(self.rows_of_added(), &self.rows);
        self.cpus.push(CpuRead { cpu, at_ns, head: self.cpus.len(), rows });
    }

    /// Takes in a CPU of another group, on which nothing happened since.
    pub(super) fn copy(&mut self, other: CpuOf<'_>, at_ns: u64) {
        self.begin(|heads| heads.push(*other.head()));
        other.sources_seen().for_each(|source| self.copy_source(source));
        self.add(other.cpu(), at_ns);
    }

    /// Takes in a source of another group.
    pub(super) fn copy_source(&mut self, other: SourceOf<'_>) {
        self.push(
            other.number(),
            |seen| seen.push(*other.seen()),
            |_, steps| steps.extend_from_slice(other.steps()),
        );
    }

    fn forget_begun(&mut self) {
        let rows = self.rows_of_added();
        if let Some(row) = self.rows.get(rows) {
            self.steps.truncate(usize::from(row.steps.from));
        }
        self.rows.truncate(rows);
        self.seen.truncate(rows);
        self.heads.truncate(self.cpus.len());
    }

    /// How many rows those CPUs have that were added.
    fn rows_of_added(&self) -> usize {
        self.cpus.last().map_or(0, |cpu| cpu.rows.range().end)
    }
}

/// The steps of the shortest and of the longest, and all between; `None` where there was none.
fn steps_of(all: &Tally) -> Option<Range<usize>> {
    // A length of 0 is told as a shortest one of 1, for there 0 stands for none.
    let first = if all.shortest_ns <= 1 { 0 } else { step_of(all.shortest_ns) };
    (all.count > 0).then(|| first..step_of(all.longest_ns) + 1)
}

/// The lines that these steps lie on.
fn lines_of(steps: Range<usize>) -> Range<usize> {
    steps.start / STEPS_IN_LINE..steps.end.div_ceil(STEPS_IN_LINE)
}

/// A CPU of a group.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CpuOf<'a> {
    read: &'a CpuRead,
    group: &'a Group,
    still_at_ns: u64,
}

impl<'a> CpuOf<'a> {
    /// Its number.
    pub(crate) fn cpu(&self) -> u32 {
        self.read.cpu
    }

    /// When it was read or, where nothing happened since, looked at; CLOCK_MONOTONIC ns.
    pub(crate) fn at_ns(&self) -> u64 {
        self.read.at_ns.max(self.still_at_ns)
    }

    /// As it was then.
    pub(crate) fn head(&self) -> &'a CpuHead {
        &self.group.heads[self.read.head]
    }

    /// What interrupted it, and how long at a time.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (Source, &'a SourceSeen, Distribution)> + use<'a> {
        self.sources_seen().map(|source| (Source::ALL[source.number()], source.seen(), source.lengths()))
    }

    /// A bit for each source that came, by number.
    pub(super) fn mask(&self) -> u32 {
        self.group.rows[self.read.rows.range()].iter().fold(0, |mask, row| mask | 1 << row.source)
    }

    pub(super) fn sources_seen(&self) -> impl Iterator<Item = SourceOf<'a>> + use<'a> {
        let group = self.group;
        self.read.rows.range().map(move |at| SourceOf { group, at })
    }
}

/// A source that came on a CPU of a group.
#[derive(Debug, Clone, Copy)]
pub(super) struct SourceOf<'a> {
    group: &'a Group,
    at: usize,
}

impl<'a> SourceOf<'a> {
    fn row(&self) -> Row {
        self.group.rows[self.at]
    }

    /// Its number.
    pub(super) fn number(&self) -> usize {
        usize::from(self.row().source)
    }

    /// The lines of its steps that are kept.
    pub(super) fn lines(&self) -> Range<usize> {
        let Row { first_line, steps, .. } = self.row();
        usize::from(first_line)..usize::from(first_line) + steps.range().len()
    }

    fn seen(&self) -> &'a SourceSeen {
        &self.group.seen[self.at]
    }

    fn steps(&self) -> &'a [StepsLine] {
        &self.group.steps[self.row().steps.range()]
    }

    fn lengths(&self) -> Distribution {
        let Some(steps) = steps_of(&self.seen().all) else { return Distribution::default() };
        let counts = self.steps().iter().flat_map(|line| line.steps);
        Distribution::from(steps.start, counts.skip(steps.start % STEPS_IN_LINE).take(steps.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bpf::Record as _;

    #[test]
    fn a_source_that_never_came_is_not_looked_at() {
        let never = SourceSeen { all: Tally { longest_ns: 7, ..Tally::zeroed() }, ..SourceSeen::zeroed() };
        assert_eq!(steps_of(&never.all), None);
        let mut group = Group::default();
        group.begin(|heads| heads.push(CpuHead::zeroed()));
        group.push(3, |seen| seen.push(never), |_, _| panic!("there is nothing to append"));
        group.add(0, 0);
        assert_eq!(group.at(0).unwrap().sources_seen().count(), 0);
    }

    #[test]
    fn a_source_that_is_caught_while_its_first_event_is_booked_has_no_lengths_yet() {
        // How often it came and the shortest are written, the longest is not.
        let all = Tally { count: 1, total_ns: 0, shortest_ns: 1 << 12, longest_ns: 0 };
        let mut group = Group::default();
        group.begin(|heads| heads.push(CpuHead::zeroed()));
        let push_steps = |lines: Range<usize>, _: &mut Vec<StepsLine>| assert!(lines.is_empty());
        let seen = SourceSeen { all, ..SourceSeen::zeroed() };
        assert_eq!(group.push(3, |all| all.push(seen), push_steps), 1);
        group.add(0, 0);
        let mut copy = Group::default();
        copy.copy(group.at(0).unwrap(), 0);
        for group in [&group, &copy] {
            let (_, seen, lengths) = group.at(0).unwrap().sources().next().unwrap();
            assert!(seen.all.count == 1 && lengths.is_empty());
        }
    }

    #[test]
    fn lines_are_those_from_the_shortest_to_the_longest() {
        for (shortest_ns, longest_ns, lines) in
            [(1, 1, 0..1), (1, 1 << 10, 0..3), (1 << 8, (1 << 12) - 1, 2..3)]
        {
            let all = Tally { count: 2, total_ns: 0, shortest_ns, longest_ns };
            assert_eq!(lines_of(steps_of(&all).unwrap()), lines, "{shortest_ns} to {longest_ns}");
        }
    }
}
