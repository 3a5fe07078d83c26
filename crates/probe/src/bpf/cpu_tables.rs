//! What the programs count of each CPU.

use std::mem::offset_of;

use super::mapped::Mapped;
use super::records::{CpuHead, CpuSeen, SOURCES, STEPS_LINES, SourceSeen, StepsLine};

/// The tables of CPUs.
///
/// What each source did and how long it ran at a time is apart from the rest, and each row of that is a line of the cache: what is read of many
/// CPUs lies side by side, on few pages.
pub(crate) struct CpuTables {
    /// By number.
    pub(crate) records: Mapped<CpuSeen>,
    /// A row for each CPU of the first of [`SOURCES`], then of the next.
    pub(crate) sources: Mapped<SourceSeen>,
    /// The same of the first of [`STEPS_LINES`] of the first source, then of the next.
    pub(crate) steps: Mapped<StepsLine>,
}

impl CpuTables {
    /// Copies what is read of a CPU each time; nothing where there is none of that number, here as in the next.
    #[inline]
    pub(crate) fn copy_head(&self, cpu: usize, to: &mut CpuHead) {
        self.records.copy_part(cpu, offset_of!(CpuSeen, head), to);
    }

    /// Copies what a source did on a CPU.
    #[inline]
    pub(crate) fn copy_source(&self, source: usize, cpu: usize, to: &mut SourceSeen) {
        if let Some(row) = self.row_of_source(source, cpu) {
            self.sources.copy_part(row, 0, to);
        }
    }

    /// One word of that.
    pub(crate) fn word_of_source(&self, source: usize, cpu: usize, offset: usize) -> Option<u64> {
        self.sources.word(self.row_of_source(source, cpu)?, offset)
    }

    /// Copies how often it ran for so long at a time: this line of the steps.
    #[inline]
    pub(crate) fn copy_steps(&self, source: usize, cpu: usize, line: usize, to: &mut StepsLine) {
        if let Some(row) = self.row_of_steps(source, cpu, line) {
            self.steps.copy_part(row, 0, to);
        }
    }

    #[inline]
    fn row_of_source(&self, source: usize, cpu: usize) -> Option<usize> {
        let cpus = self.records.len();
        (source < SOURCES && cpu < cpus).then_some(source * cpus + cpu)
    }

    #[inline]
    fn row_of_steps(&self, source: usize, cpu: usize, line: usize) -> Option<usize> {
        let cpus = self.records.len();
        let is_there = source < SOURCES && cpu < cpus && line < STEPS_LINES;
        is_there.then_some((source * STEPS_LINES + line) * cpus + cpu)
    }
}
