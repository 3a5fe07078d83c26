//! Lengths of what interrupted each CPU, source by source, as they were read.

use super::distribution::{Distribution, step_of};
use crate::bpf::{CpuSeen, Mapped, SOURCES, SourceSteps, Tally};

/// How many fell into each step, of all CPUs and sources in one piece of memory. Of each only the steps from its shortest to its longest
/// are kept: the others are empty, and all of them would be 13 MB on 1,024 CPUs.
#[derive(Debug, Clone, Default)]
pub(crate) struct SourceLengths {
    counts: Vec<u32>,
    /// In the order of CPUs and sources.
    rows: Vec<Row>,
}

#[derive(Debug, Clone, Copy)]
struct Row {
    cpu: u32,
    source: usize,
    /// The first step that is kept.
    step: usize,
    /// Where it stands in `counts`.
    from: usize,
    to: usize,
}

impl SourceLengths {
    /// Reads those of a CPU whose record is `seen`. CPUs are read in ascending order.
    pub(super) fn read(&mut self, cpu: u32, seen: &CpuSeen, steps: &Mapped<SourceSteps>) {
        for (source, seen) in seen.sources.iter().enumerate() {
            let Some((first, last)) = steps_of(&seen.all) else { continue };
            let from = self.counts.len();
            steps.append(cpu as usize * SOURCES + source, first..=last, &mut self.counts);
            self.rows.push(Row { cpu, source, step: first, from, to: self.counts.len() });
        }
    }

    /// Forgets the CPU that was read last.
    pub(super) fn forget(&mut self, cpu: u32) {
        while let Some(row) = self.rows.pop_if(|row| row.cpu == cpu) {
            self.counts.truncate(row.from);
        }
    }

    /// Lengths of a source on a CPU.
    pub(super) fn of(&self, cpu: u32, source: usize) -> Distribution {
        let found = self.rows.binary_search_by_key(&(cpu, source), |row| (row.cpu, row.source));
        let row = found.ok().and_then(|at| self.rows.get(at));
        row.map_or_else(Distribution::default, |row| {
            Distribution::from(row.step, &self.counts[row.from..row.to])
        })
    }
}

/// The steps of the shortest and of the longest; `None` where there was none.
fn steps_of(all: &Tally) -> Option<(usize, usize)> {
    // A length of 0 is told as a shortest one of 1, for there 0 stands for none.
    let first = if all.shortest_ns <= 1 { 0 } else { step_of(all.shortest_ns) };
    (all.count > 0).then(|| (first, step_of(all.longest_ns)))
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd as _;

    use rustix::fs::{MemfdFlags, ftruncate, memfd_create};

    use super::*;
    use crate::bpf::{Record as _, SourceSeen};

    /// Counts lengths as the programs do.
    fn count(steps: &mut Mapped<SourceSteps>, seen: &mut CpuSeen, cpu: usize, source: usize, ns: u64) {
        let all = &mut seen.sources[source].all;
        let shortest_ns = if all.count == 0 { u64::MAX } else { all.shortest_ns };
        *all = Tally {
            count: all.count + 1,
            total_ns: all.total_ns + ns,
            shortest_ns: shortest_ns.min(ns.max(1)),
            longest_ns: all.longest_ns.max(ns),
        };
        let row = cpu * SOURCES + source;
        let mut record = steps.get(row).unwrap();
        record.steps[step_of(ns)] += 1;
        steps.set(row, &record);
    }

    #[test]
    fn what_is_kept_of_each_source_is_all_that_was_counted() {
        let memory = memfd_create("steps", MemfdFlags::CLOEXEC).unwrap();
        ftruncate(&memory, 1 << 16).unwrap();
        let mut steps: Mapped<SourceSteps> = Mapped::new("steps", memory.as_fd(), 2 * SOURCES).unwrap();
        let mut seen = [CpuSeen::zeroed(); 2];
        let counted = [(0, 3, [0, 1, 7_000_000]), (1, 0, [900, 900, 1_100]), (1, 19, [1 << 50, 5, 12])];
        for (cpu, source, lengths) in counted {
            lengths.iter().for_each(|ns| count(&mut steps, &mut seen[cpu], cpu, source, *ns));
        }
        let mut lengths = SourceLengths::default();
        lengths.read(0, &seen[0], &steps);
        lengths.read(1, &seen[1], &steps);
        lengths.forget(1);
        lengths.read(1, &seen[1], &steps);
        for (cpu, source, all) in counted {
            let mut truth = Distribution::default();
            all.iter().for_each(|ns| truth.insert(*ns));
            assert_eq!(lengths.of(cpu as u32, source), truth, "CPU {cpu}, source {source}");
        }
        assert!(lengths.of(0, 4).is_empty() && lengths.of(2, 3).is_empty());
        assert_eq!(lengths.rows.len(), 3);
        assert!(lengths.counts.len() < 2 * 160, "{} steps", lengths.counts.len());
    }

    #[test]
    fn a_source_that_never_came_is_not_looked_at() {
        let never = SourceSeen { all: Tally { longest_ns: 7, ..Tally::zeroed() }, ..SourceSeen::zeroed() };
        assert_eq!(steps_of(&never.all), None);
    }
}
