//! What the programs count of functions that the kernel runs on somebody's behalf.

use super::mapped::{LINE, Mapped};
use super::records::{
    FUNCTION_ROWS, FUNCTIONS, FUNCTIONS_IN_ROW, FunctionSeen, FunctionsCame, KnownFunction,
};

/// The tables of functions. Each function has a number, the same on all CPUs.
pub(crate) struct FunctionTables {
    /// By number.
    pub(crate) known: Mapped<KnownFunction>,
    /// A row for each CPU of the first [`FUNCTIONS_IN_ROW`] functions, then of the next.
    pub(crate) came: Mapped<FunctionsCame>,
    /// As many functions for each of those rows.
    pub(crate) seen: Mapped<FunctionSeen>,
}

impl FunctionTables {
    /// How many CPUs there is room for.
    pub(crate) fn cpus(&self) -> usize {
        self.came.len() / FUNCTION_ROWS
    }

    /// The highest number that any function has, and one; functions get low numbers first.
    pub(crate) fn numbers(&self) -> usize {
        (0..FUNCTIONS).rev().find(|number| self.function(*number).is_some()).map_or(0, |last| last + 1)
    }

    /// The function of a number, if one has it.
    pub(crate) fn function(&self, number: usize) -> Option<KnownFunction> {
        self.known.get(number).filter(|known| known.is_known != 0)
    }

    /// How often the functions of a row came on a CPU; `None` where there is no such row.
    pub(crate) fn came(&self, row: usize, cpu: usize) -> Option<FunctionsCame> {
        self.came.get(self.place_of(row, cpu)?)
    }

    /// What a function of a row did on a CPU; `None` where there is no such row.
    pub(crate) fn seen(&self, row: usize, cpu: usize, at: usize) -> Option<FunctionSeen> {
        self.seen.get(self.place_of(row, cpu)? * FUNCTIONS_IN_ROW + at)
    }

    /// Has the processor fetch how often they came; it does not wait for it.
    pub(crate) fn expect_came(&self, row: usize, cpu: usize) {
        let Some(place) = self.place_of(row, cpu) else { return };
        (0..size_of::<FunctionsCame>()).step_by(LINE).for_each(|line| self.came.expect(place, line));
    }

    /// The same of what one of them did.
    pub(crate) fn expect_seen(&self, row: usize, cpu: usize, at: usize) {
        if let Some(place) = self.place_of(row, cpu) {
            self.seen.expect(place * FUNCTIONS_IN_ROW + at, 0);
        }
    }

    fn place_of(&self, row: usize, cpu: usize) -> Option<usize> {
        (row < FUNCTION_ROWS && cpu < self.cpus()).then(|| row * self.cpus() + cpu)
    }
}
