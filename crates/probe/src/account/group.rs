//! CPUs in a row, as they were read.

use std::ops::Range;

use super::distribution::Distribution;
use super::source::Source;
use crate::bpf::{BUCKETS, CpuHead, SOURCES, SourceSeen};

/// CPUs in a row, with what interrupted them, in four pieces of memory for all of them. Readings share a group where nothing happened on any
/// of its CPUs.
#[derive(Debug, Clone, Default)]
pub(crate) struct Group {
    /// In the order of their numbers.
    cpus: Vec<CpuRead>,
    /// CPU by CPU the sources that came there, in the order of their numbers.
    rows: Vec<Row>,
    /// What each of them did.
    seen: Vec<SourceSeen>,
    /// How many fell into each step, row by row. Of the lengths of a source only the steps from its shortest to its longest are kept:
    /// the others are empty, and all of them would be 13 MB on 1,024 CPUs.
    counts: Vec<u32>,
}

/// How many CPUs are in a group. All are copied where any of them changed.
pub(super) const CPUS: usize = 8;

/// The kernel's record of a CPU.
#[derive(Debug, Clone)]
struct CpuRead {
    cpu: u32,
    at_ns: u64,
    head: CpuHead,
    rows: Places,
}

/// A source that came on a CPU. Those of the last reading are gone through at each reading, and so they are apart from what they did.
#[derive(Debug, Clone, Copy)]
struct Row {
    source: u8,
    /// The first step that is kept.
    first: u8,
    counts: Places,
}

/// Places of a vector.
#[derive(Debug, Clone, Copy)]
struct Places {
    from: u16,
    to: u16,
}

const _: () = assert!(BUCKETS <= u8::MAX as usize && CPUS * SOURCES * BUCKETS <= u16::MAX as usize);

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
    /// With room for as much as another one has, and a little more.
    pub(super) fn with_room_of(other: &Self) -> Self {
        Self {
            cpus: Vec::with_capacity(CPUS),
            rows: Vec::with_capacity(other.rows.len() + CPUS),
            seen: Vec::with_capacity(other.rows.len() + CPUS),
            counts: Vec::with_capacity(other.counts.len() + CPUS * STEPS_MORE),
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
    pub(super) fn at(&self, place: usize) -> Option<CpuOf<'_>> {
        self.cpus.get(place).map(|read| CpuOf { read, group: self, still_at_ns: 0 })
    }

    /// Keeps these CPUs only.
    pub(super) fn retain(&mut self, is_kept: impl Fn(u32) -> bool) {
        self.cpus.retain(|read| is_kept(read.cpu));
    }

    /// How many sources there are, of all CPUs.
    pub(super) fn sources(&self) -> usize {
        self.rows.len()
    }

    /// Takes in a source of the CPU that is added next; `append` its counts by step, from the step `first` on.
    pub(super) fn push(
        &mut self,
        source: usize,
        seen: &SourceSeen,
        first: usize,
        append: impl FnOnce(&mut Vec<u32>),
    ) {
        let from = self.counts.len();
        append(&mut self.counts);
        let counts = Places::since(from, &self.counts);
        self.rows.push(Row { source: source as u8, first: first as u8, counts });
        self.seen.push(*seen);
    }

    /// Takes in a CPU, whose sources are those pushed after so many.
    pub(super) fn add(&mut self, cpu: u32, at_ns: u64, head: &CpuHead, sources: usize) {
        let rows = Places::since(sources, &self.rows);
        self.cpus.push(CpuRead { cpu, at_ns, head: *head, rows });
    }

    /// Takes in a CPU of another group, on which nothing happened since.
    pub(super) fn copy(&mut self, other: CpuOf<'_>, at_ns: u64) {
        let sources = self.sources();
        other.sources_seen().for_each(|source| self.copy_source(source));
        self.add(other.cpu(), at_ns, other.head(), sources);
    }

    /// Takes in a source of another group.
    pub(super) fn copy_source(&mut self, other: SourceOf<'_>) {
        self.push(other.number(), other.seen(), other.steps().start, |to| {
            to.extend_from_slice(other.counts())
        });
    }

    /// Forgets the sources beyond so many.
    pub(super) fn forget(&mut self, sources: usize) {
        if let Some(row) = self.rows.get(sources) {
            self.counts.truncate(usize::from(row.counts.from));
        }
        self.rows.truncate(sources);
        self.seen.truncate(sources);
    }
}

/// Room for steps that were not there at the last reading, for each CPU.
const STEPS_MORE: usize = 16;

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
        &self.read.head
    }

    /// What interrupted it, and how long at a time.
    pub(crate) fn sources(&self) -> impl Iterator<Item = (Source, &'a SourceSeen, Distribution)> + use<'a> {
        self.sources_seen().map(|source| {
            let lengths = Distribution::from(source.steps().start, source.counts());
            (Source::ALL[source.number()], source.seen(), lengths)
        })
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

    /// The steps that are kept.
    pub(super) fn steps(&self) -> Range<usize> {
        let Row { first, counts, .. } = self.row();
        usize::from(first)..usize::from(first) + counts.range().len()
    }

    fn seen(&self) -> &'a SourceSeen {
        &self.group.seen[self.at]
    }

    fn counts(&self) -> &'a [u32] {
        &self.group.counts[self.row().counts.range()]
    }
}
