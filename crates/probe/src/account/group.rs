//! CPUs in a row, as they were read.

use std::ops::Range;

use super::distribution::{Distribution, step_of};
use super::source::Source;
use crate::bpf::{
    CpuHead, Record as _, SOURCES, STEPS_IN_LINE, STEPS_LINES, SourceSeen, StepsLine, Tally, expect_all,
};

/// CPUs in a row, with what interrupted them, in a few pieces of memory for all of them. Readings share a group where nothing happened on any
/// of its CPUs. Where something did it is read anew in its place, unless somebody has the last reading still.
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

/// How many CPUs are in a group. All are copied where any of them changed and somebody has the last reading still.
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
    fn range(self) -> Range<usize> {
        usize::from(self.from)..usize::from(self.to)
    }

    /// Where they lie when so many elements came before them, or went.
    fn moved(self, by: isize) -> Self {
        let moved = |at: u16| {
            let moved = at.checked_add_signed(by as i16);
            debug_assert!(moved.is_some(), "place {at} cannot move by {by}");
            moved.unwrap_or(at)
        };
        Self { from: moved(self.from), to: moved(self.to) }
    }
}

impl Group {
    /// Of these CPUs, of which nothing is known yet.
    pub(super) fn of(cpus: &[u32]) -> Self {
        let nothing = Places { from: 0, to: 0 };
        let read = |(head, cpu): (usize, &u32)| CpuRead { cpu: *cpu, at_ns: 0, head, rows: nothing };
        Self {
            cpus: cpus.iter().enumerate().map(read).collect(),
            heads: vec![CpuHead::zeroed(); cpus.len()],
            ..Self::default()
        }
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
    pub(super) fn at(&self, place: usize) -> CpuOf<'_> {
        CpuOf { read: &self.cpus[place], group: self, still_at_ns: 0 }
    }

    /// Has the processor fetch what tells where all that is known of these CPUs lies; it does not wait for it.
    pub(super) fn expect_places(&self) {
        expect_all(&self.cpus);
        expect_all(&self.rows);
    }

    /// The same for all that will be written anew of the CPU at a place, if these sources (a bit for each) come there.
    pub(super) fn expect(&self, place: usize, sources: u32) {
        expect_all(&self.heads[place..=place]);
        for row in self.cpus[place].rows.range().filter(|row| sources & 1 << self.rows[*row].source != 0) {
            expect_all(&self.seen[row..=row]);
            expect_all(&self.steps[self.rows[row].steps.range()]);
        }
    }

    /// Keeps these CPUs only, for good: nothing is read into it any more.
    pub(super) fn retain(&mut self, is_kept: impl Fn(u32) -> bool) {
        self.cpus.retain(|read| is_kept(read.cpu));
    }

    /// The kernel's record of the CPU at a place, to be read anew.
    pub(super) fn head_mut(&mut self, place: usize) -> &mut CpuHead {
        &mut self.heads[place]
    }

    /// Says of when the CPU at a place is.
    pub(super) fn set_at_ns(&mut self, place: usize, at_ns: u64) {
        self.cpus[place].at_ns = at_ns;
    }

    /// Reads a source of the CPU at a place anew: `copy_seen` what it did, and then these lines of its steps. How often it came; where it never
    /// did, there is nothing to keep.
    pub(super) fn read_source(
        &mut self,
        place: usize,
        source: usize,
        copy_seen: impl Fn(&mut SourceSeen),
        copy_steps: impl FnOnce(Range<usize>, &mut [StepsLine]),
    ) -> u64 {
        let Some(row) = self.row_to_read(place, source, copy_seen) else { return 0 };
        let all = self.seen[row].all;
        let lines = steps_of(&all).map_or(0..0, lines_of);
        self.keep_lines(row, &lines);
        copy_steps(lines, &mut self.steps[self.rows[row].steps.range()]);
        all.count
    }

    /// The row of a source of which is read what it did; `None` where it never did anything.
    fn row_to_read(
        &mut self,
        place: usize,
        source: usize,
        copy_seen: impl Fn(&mut SourceSeen),
    ) -> Option<usize> {
        let rows = self.cpus[place].rows.range();
        let before =
            self.rows[rows.clone()].iter().take_while(|row| usize::from(row.source) < source).count();
        let row = rows.start + before;
        if rows.contains(&row) && usize::from(self.rows[row].source) == source {
            copy_seen(&mut self.seen[row]);
            return Some(row);
        }
        let mut seen = SourceSeen::zeroed();
        copy_seen(&mut seen);
        (seen.all.count > 0).then(|| self.insert_row(place, row, source, seen))
    }

    /// Makes room for one more row, which has no steps yet.
    fn insert_row(&mut self, place: usize, row: usize, source: usize, seen: SourceSeen) -> usize {
        let from = row.checked_sub(1).map_or(0, |before| self.rows[before].steps.to);
        self.rows.insert(row, Row { source: source as u8, first_line: 0, steps: Places { from, to: from } });
        self.seen.insert(row, seen);
        self.cpus[place].rows.to += 1;
        self.cpus[place + 1..].iter_mut().for_each(|cpu| cpu.rows = cpu.rows.moved(1));
        row
    }

    /// Makes room for these lines of steps of a row, and no others.
    fn keep_lines(&mut self, row: usize, lines: &Range<usize>) {
        let Row { first_line, steps, .. } = self.rows[row];
        let more = lines.len() as isize - steps.range().len() as isize;
        if usize::from(first_line) == lines.start && more == 0 {
            return;
        }
        self.steps.splice(steps.range(), std::iter::repeat_n(StepsLine::zeroed(), lines.len()));
        self.rows[row].first_line = lines.start as u8;
        self.rows[row].steps.to = steps.from + lines.len() as u16;
        self.rows[row + 1..].iter_mut().for_each(|row| row.steps = row.steps.moved(more));
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
        let parts = self.lines().zip(self.steps()).map(|(line, counted)| {
            let first = line * STEPS_IN_LINE;
            &counted.steps[steps.start.saturating_sub(first)..(steps.end - first).min(STEPS_IN_LINE)]
        });
        Distribution::from(steps.start, steps.len(), parts)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_source_that_never_came_is_not_looked_at() {
        let never = SourceSeen { all: Tally { longest_ns: 7, ..Tally::zeroed() }, ..SourceSeen::zeroed() };
        assert_eq!(steps_of(&never.all), None);
        let mut group = Group::of(&[0]);
        let count = group.read_source(0, 3, |seen| *seen = never, |_, _| panic!("there is nothing to read"));
        assert_eq!((count, group.at(0).sources_seen().count()), (0, 0));
    }

    #[test]
    fn a_source_that_is_caught_while_its_first_event_is_booked_has_no_lengths_yet() {
        // How often it came and the shortest are written, the longest is not.
        let all = Tally { count: 1, total_ns: 0, shortest_ns: 1 << 12, longest_ns: 0 };
        let mut group = Group::of(&[0]);
        let copy_steps = |lines: Range<usize>, _: &mut [StepsLine]| assert!(lines.is_empty());
        let seen = SourceSeen { all, ..SourceSeen::zeroed() };
        assert_eq!(group.read_source(0, 3, |all| *all = seen, copy_steps), 1);
        let (_, seen, lengths) = group.at(0).sources().next().unwrap();
        assert!(seen.all.count == 1 && lengths.is_empty());
    }

    proptest! {
        /// Each row says which CPU and source it is of, and each line of its steps as well.
        #[test]
        fn what_is_read_of_one_source_leaves_the_others_as_they_were(
            read in prop::collection::vec((0..3_usize, 0..SOURCES, 1..1_u64 << 30, 0..1_u64 << 30), 0..60)
        ) {
            let mut group = Group::of(&[4, 5, 7]);
            let mut truth = BTreeMap::new();
            for (round, (place, source, shortest_ns, more_ns)) in read.into_iter().enumerate() {
                let all = Tally { count: round as u64 + 1, total_ns: 0, shortest_ns, longest_ns: shortest_ns + more_ns };
                let mark = |line: usize| [(place << 16 | source << 8 | line) as u32, round as u32];
                let copy_steps = |lines: Range<usize>, to: &mut [StepsLine]| {
                    assert_eq!(lines.len(), to.len());
                    lines.zip(to).for_each(|(line, to)| to.steps[..2].copy_from_slice(&mark(line)));
                };
                let seen = SourceSeen { all, ..SourceSeen::zeroed() };
                group.read_source(place, source, |to| *to = seen, copy_steps);
                truth.insert((place, source), (all, lines_of(steps_of(&all).unwrap()).map(mark).collect::<Vec<_>>()));
            }
            let mut kept = BTreeMap::new();
            for place in 0..3 {
                for of in group.at(place).sources_seen() {
                    let marks = of.steps().iter().map(|line| [line.steps[0], line.steps[1]]).collect();
                    prop_assert!(kept.insert((place, of.number()), (of.seen().all, marks)).is_none());
                }
            }
            prop_assert_eq!(kept, truth);
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
