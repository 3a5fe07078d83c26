//! CPUs in a row, as they were read.

use std::ops::Range;

use super::sparse_table::SparseTable;
use crate::account::rows::distribution::{Distribution, step_of};
use crate::account::rows::source::Source;
use crate::bpf::{CpuHead, Record as _, SOURCES, STEPS_IN_LINE, STEPS_LINES, SourceSeen, StepsLine, Tally};

/// CPUs in a row, with what interrupted them. Readings share a group where nothing happened on any of its CPUs. Where something did it is
/// read anew in its place, unless somebody has the last reading still.
///
/// It lies as the tables of the kernel's programs do: what a source did on all of these CPUs side by side, then the next source. So it is read
/// and written in a few long rows, which the processor fetches by itself.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    /// In the order of their numbers.
    cpus: Vec<CpuRead>,
    /// By place, as all that follows: the kernel's records of them.
    heads: Vec<CpuHead>,
    /// What each source did.
    sources: SparseTable<SourceSeen>,
    /// How many fell into each step: [`STEPS_LINES`] of the first source, then of the next. Of a source only lines from its shortest to
    /// its longest are read: the others are empty.
    steps: SparseTable<StepsLine>,
}

/// How many CPUs are in a group: there is a bit for each in a word. All are copied where any of them changed and somebody has the last reading
/// still.
pub(in crate::account) const CPUS: usize = u64::BITS as usize;

/// A CPU that was read.
#[derive(Debug, Clone)]
struct CpuRead {
    cpu: u32,
    at_ns: u64,
    place: usize,
}

impl Group {
    /// Of these CPUs, of which nothing is known yet.
    pub(in crate::account) fn of(cpus: &[u32]) -> Self {
        let read = |(place, cpu): (usize, &u32)| CpuRead { cpu: *cpu, at_ns: 0, place };
        Self {
            cpus: cpus.iter().enumerate().map(read).collect(),
            heads: vec![CpuHead::zeroed(); cpus.len()],
            sources: SparseTable::with_room(SOURCES, cpus.len()),
            steps: SparseTable::with_room(SOURCES * STEPS_LINES, cpus.len()),
        }
    }

    /// The number of its first CPU; `None` where it has none.
    pub(in crate::account) fn first(&self) -> Option<u32> {
        self.cpus.first().map(|read| read.cpu)
    }

    /// Its CPUs; `still_at_ns`: when it was found that nothing had happened on any, 0 where it was read.
    pub(in crate::account) fn iter(&self, still_at_ns: u64) -> impl Iterator<Item = CpuOf<'_>> {
        self.cpus.iter().map(move |read| CpuOf { read, group: self, still_at_ns })
    }

    /// The CPU of a number, if it is in this group; `still_at_ns` as above.
    pub(in crate::account) fn find(&self, cpu: u32, still_at_ns: u64) -> Option<CpuOf<'_>> {
        let at = self.cpus.binary_search_by_key(&cpu, |read| read.cpu).ok()?;
        Some(CpuOf { read: &self.cpus[at], group: self, still_at_ns })
    }

    /// Keeps these CPUs only, for good: nothing is read into it any more.
    pub(in crate::account) fn retain(&mut self, is_kept: impl Fn(u32) -> bool) {
        self.cpus.retain(|read| is_kept(read.cpu));
    }

    /// The kernel's record of the CPU at a place, and the same to be read anew.
    pub(in crate::account) fn head(&self, place: usize) -> &CpuHead {
        &self.heads[place]
    }

    pub(in crate::account) fn head_mut(&mut self, place: usize) -> &mut CpuHead {
        &mut self.heads[place]
    }

    /// Says of when the CPU at a place is.
    pub(in crate::account) fn set_at_ns(&mut self, place: usize, at_ns: u64) {
        self.cpus[place].at_ns = at_ns;
    }

    /// What a source did on each CPU, by place, to be read anew.
    pub(in crate::account) fn source_mut(&mut self, source: usize) -> &mut [SourceSeen] {
        self.sources.row_mut(source)
    }

    /// The same of a line of its steps.
    pub(in crate::account) fn steps_mut(&mut self, source: usize, line: usize) -> &mut [StepsLine] {
        self.steps.row_mut(source * STEPS_LINES + line)
    }
}

/// The steps of the shortest and of the longest, and all between; `None` where there was none.
fn steps_of(all: &Tally) -> Option<Range<usize>> {
    // A length of 0 is reported as a shortest one of 1, for there 0 stands for none.
    let first = if all.shortest_ns <= 1 { 0 } else { step_of(all.shortest_ns) };
    (all.count > 0).then(|| first..step_of(all.longest_ns) + 1)
}

/// The lines on which the steps lie that anything was sorted into.
pub(in crate::account) fn lines_of(all: &Tally) -> Range<usize> {
    steps_of(all).map_or(0..0, |steps| steps.start / STEPS_IN_LINE..steps.end.div_ceil(STEPS_IN_LINE))
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
        self.group.head(self.read.place)
    }

    /// What interrupted it, and how long at a time.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (Source, &'a SourceSeen, Distribution)> + use<'a> {
        let (group, place) = (self.group, self.read.place);
        (0..SOURCES).filter_map(move |source| {
            let seen = group.sources.get(source, place).filter(|seen| seen.all.count > 0)?;
            Some((Source::ALL[source], seen, group.lengths(source, place, &seen.all)))
        })
    }
}

impl Group {
    /// Lengths of a source on the CPU at a place.
    fn lengths(&self, source: usize, place: usize, all: &Tally) -> Distribution {
        let Some(steps) = steps_of(all) else { return Distribution::default() };
        let parts = lines_of(all).map(|line| {
            let first = line * STEPS_IN_LINE;
            let counted = self.steps.get(source * STEPS_LINES + line, place);
            let counted = counted.map_or(&[0; STEPS_IN_LINE], |counted| &counted.steps);
            &counted[steps.start.saturating_sub(first)..(steps.end - first).min(STEPS_IN_LINE)]
        });
        Distribution::from(steps.start, steps.len(), parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_those_from_the_shortest_to_the_longest() {
        for (count, shortest_ns, longest_ns, lines) in [
            (2, 1, 1, 0..1),
            (2, 1, 1 << 10, 0..3),
            (2, 1 << 8, (1 << 12) - 1, 2..3),
            // Caught while its first event is booked: the longest is not written yet.
            (1, 1 << 12, 0, 0..0),
            // It never came.
            (0, 0, 7, 0..0),
        ] {
            let all = Tally { count, total_ns: 0, shortest_ns, longest_ns };
            let found = lines_of(&all);
            assert!(found.clone().eq(lines), "{shortest_ns} to {longest_ns}: {found:?}");
        }
    }

    #[test]
    fn a_source_that_is_caught_while_its_first_event_is_booked_has_no_lengths_yet() {
        let all = Tally { count: 1, total_ns: 0, shortest_ns: 1 << 12, longest_ns: 0 };
        let mut group = Group::of(&[4, 7]);
        group.source_mut(3)[1].all = all;
        let of = group.find(7, 0).unwrap();
        let (_, seen, lengths) = of.sources().next().unwrap();
        assert!(seen.all.count == 1 && lengths.is_empty());
        assert_eq!(group.find(4, 0).unwrap().sources().count(), 0, "it never came there");
        assert!(group.find(5, 0).is_none());
    }
}
