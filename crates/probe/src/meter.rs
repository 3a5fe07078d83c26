//! Counters read again and again for as long as somebody looks: what moved since the reading before.
//!
//! A [`crate::Recording`] keeps every frame, so that any window can be cut out of it later; a meter keeps the last two
//! and uses their memory again. Once the rows have been seen and as many cells have moved as ever move between two
//! readings, reading `interrupts`, `softirqs` and `stat` asks for no memory (tests/allocation.rs).

use std::collections::BTreeMap;
use std::sync::Arc;

use machine::{Missing, Root};

use crate::probes::{ALL, Probe};
use crate::rows::{Head, Keep, Rows, SYSTEM};
use crate::sampler::Collector;

/// Reads some probes from one root.
pub struct Meter {
    root: Arc<Root>,
    collector: Collector,
}

/// A cell that moved between two readings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cell<'a> {
    /// Its row.
    pub row: RowHead<'a>,
    /// CPU; `None` for a row of the whole system.
    pub cpu: Option<u32>,
    /// How far it moved, in the unit of the row; below 0 where a 64-bit counter went back a little (`idle`).
    pub delta: i64,
}

/// What a row is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowHead<'a> {
    /// Number of the row, the same for as long as the meter lives.
    pub id: u32,
    /// Probe that reads it.
    pub probe: &'a str,
    /// Row name: `85`, `LOC`, `NET_RX`, `steal`.
    pub name: &'a str,
    /// What the kernel calls it; empty when the name says it all.
    pub label: &'a str,
    /// Unit of differences: `events`, `us`.
    pub unit: &'a str,
}

/// A row with its values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowNow<'a> {
    /// What it is.
    pub row: RowHead<'a>,
    /// CPUs of its values; empty for a row of the whole system, which has one value.
    pub cpus: &'a [u32],
    /// Values since boot.
    pub values: &'a [u64],
}

/// What a meter read last, beside what it read before.
#[derive(Clone, Copy)]
pub struct Reading<'a> {
    rows: &'a Rows,
}

impl Meter {
    /// A meter of the probes with these ids (see [`crate::probes::ALL`]); others are left out. Probes that would take
    /// long are tried out first, and left out with a word in [`Reading::missing`].
    pub fn new(root: impl Into<Arc<Root>>, ids: &[&str]) -> Self {
        let root = root.into();
        let wanted: Vec<&'static dyn Probe> =
            ALL.iter().copied().filter(|probe| ids.contains(&probe.about().id)).collect();
        let rows = Rows::new(&root, None).keeping(Keep::Last);
        let collector = Collector::of(rows, &root, &wanted);
        Self { root, collector }
    }

    /// Reads another root from now on, as if it were the same machine later.
    #[cfg(test)]
    pub(crate) fn look_at(&mut self, root: Root) {
        self.root = Arc::new(root);
    }

    /// Reads once. Never fails: what cannot be read is in [`Reading::missing`].
    pub fn read(&mut self) -> Reading<'_> {
        self.collector.take(&self.root, 0, false);
        self.last()
    }

    /// What was read last.
    pub fn last(&self) -> Reading<'_> {
        Reading { rows: &self.collector.rows }
    }
}

impl<'a> Reading<'a> {
    /// The instant that it stands for, CLOCK_MONOTONIC ns; 0 before the first reading.
    pub fn at_ns(&self) -> u64 {
        self.rows.frames().last().map_or(0, |frame| frame.middle_ns())
    }

    /// Time since the reading before, ns; `None` where there was none, and so nothing that moved.
    pub fn since_ns(&self) -> Option<u64> {
        match self.rows.frames() {
            [.., before, last] => Some(last.middle_ns().saturating_sub(before.middle_ns())),
            _ => None,
        }
    }

    /// CPU time that the reading cost, ns.
    pub fn cpu_ns(&self) -> u64 {
        self.rows.frames().last().map_or(0, |frame| frame.cpu_ns)
    }

    /// The cells that moved since the reading before, in row order.
    pub fn moved(&self) -> impl Iterator<Item = Cell<'a>> + use<'a> {
        let rows = self.rows;
        rows.frames().last().into_iter().flat_map(|frame| &frame.moved).filter_map(move |cell| {
            let row = head(cell.row, rows.head(cell.row)?);
            Some(Cell { row, cpu: Some(cell.cpu).filter(|cpu| *cpu != SYSTEM), delta: cell.delta })
        })
    }

    /// How far counts moved since the reading before, by CPU and row; what went backwards, or is of the whole system, is left out.
    pub fn moved_by_cpu(&self) -> BTreeMap<u32, BTreeMap<String, u64>> {
        let mut counts: BTreeMap<u32, BTreeMap<String, u64>> = BTreeMap::new();
        for cell in self.moved() {
            if let (Some(cpu), Ok(delta)) = (cell.cpu, u64::try_from(cell.delta)) {
                counts.entry(cpu).or_default().insert(cell.row.name.to_string(), delta);
            }
        }
        counts
    }

    /// All rows that were read, also those that stand still.
    pub fn rows(&self) -> impl Iterator<Item = RowNow<'a>> + use<'a> {
        self.rows.latest().map(|(id, known, cpus, values)| {
            let cpus = if cpus == [SYSTEM] { &[] } else { cpus };
            RowNow { row: head(id, known), cpus, values }
        })
    }

    /// Cells whose count began again since the reading before: how far they moved is not known.
    pub fn restarted(&self) -> impl Iterator<Item = (RowHead<'a>, Option<u32>)> + use<'a> {
        let rows = self.rows;
        rows.frames().last().into_iter().flat_map(|frame| &frame.restarted).filter_map(move |(id, cpu)| {
            Some((head(*id, rows.head(*id)?), Some(*cpu).filter(|cpu| *cpu != SYSTEM)))
        })
    }

    /// What could not be read, and why.
    pub fn missing(&self) -> impl Iterator<Item = &'a Missing> + use<'a> {
        self.rows.noted()
    }
}

fn head(id: u32, known: &Head) -> RowHead<'_> {
    RowHead { id, probe: known.probe, name: &known.name, label: &known.label, unit: known.unit }
}

#[cfg(test)]
mod tests {
    use machine::Tree;

    use super::*;

    fn tree(loc: u64, err: u64) -> Root {
        let table = format!("  CPU0 CPU4\n 24: 5 0 IO-APIC 5-edge  disk\nLOC: {loc} 7   Timer\nERR: {err}\n");
        Root::from_tree(Tree::new().file("/proc/interrupts", table))
    }

    #[test]
    fn the_first_reading_has_rows_and_the_second_what_moved() {
        let mut meter = Meter::new(tree(10, 1), &["interrupts"]);
        let first = meter.read();
        assert_eq!((first.since_ns(), first.moved().count(), first.missing().count()), (None, 0, 0));
        let rows: Vec<_> = first.rows().map(|now| (now.row.name, now.cpus, now.values)).collect();
        assert_eq!(rows, [("24", &[0, 4][..], &[5, 0][..]), ("LOC", &[0, 4], &[10, 7]), ("ERR", &[], &[1])]);
        for (loc, err) in [(15, 1), (15, 4), (2, 4), (2, 4)] {
            meter.root = Arc::new(tree(loc, err));
            meter.read();
        }
        meter.root = Arc::new(tree(9, 5));
        let last = meter.read();
        let moved: Vec<_> = last.moved().map(|cell| (cell.row.name, cell.cpu, cell.delta)).collect();
        assert_eq!(moved, [("LOC", Some(0), 7), ("ERR", None, 1)]);
        let by_cpu = BTreeMap::from([(0, BTreeMap::from([("LOC".to_string(), 7)]))]);
        assert_eq!(last.moved_by_cpu(), by_cpu, "ERR is of the whole system");
        assert!(last.since_ns().is_some_and(|ns| ns > 0));
    }

    #[test]
    fn a_count_that_began_again_is_no_movement() {
        let mut meter = Meter::new(tree(1000, 0), &["interrupts"]);
        meter.read();
        meter.root = Arc::new(tree(3, 0));
        let reading = meter.read();
        assert_eq!(reading.moved().count(), 0);
        assert_eq!(
            reading.restarted().map(|(row, cpu)| (row.name, cpu)).collect::<Vec<_>>(),
            [("LOC", Some(0))]
        );
    }

    #[test]
    fn what_cannot_be_read_is_missing_for_as_long_as_that_is_so() {
        let mut meter = Meter::new(Root::from_tree(Tree::new()), &["interrupts", "stat"]);
        assert_eq!(meter.read().missing().count(), 2);
        meter.root = Arc::new(tree(1, 1));
        assert_eq!(meter.read().missing().map(|m| m.fact.as_str()).collect::<Vec<_>>(), ["/proc/stat"]);
    }
}
