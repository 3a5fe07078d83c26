//! What the programs count of functions that the kernel runs on somebody's behalf.

use super::mapped::Mapped;
use super::records::{
    FUNCTION_ROWS, FUNCTIONS, FUNCTIONS_IN_LINE, FunctionSeen, FunctionsCame, KnownFunction,
};

/// The tables of functions. Each function has a number, the same on all CPUs.
pub(crate) struct FunctionTables {
    /// By number.
    pub(crate) known: Mapped<KnownFunction>,
    /// A row for each CPU of the first [`FUNCTIONS_IN_ROW`](super::records::FUNCTIONS_IN_ROW) functions, then of the next.
    pub(crate) came: Mapped<FunctionsCame>,
    /// A line for each CPU of the first [`FUNCTIONS_IN_LINE`] functions, then of the next.
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
        let is_there = row < FUNCTION_ROWS && cpu < self.cpus();
        self.came.get(is_there.then(|| row * self.cpus() + cpu)?)
    }

    /// What the function of a number did on a CPU; `None` where there is no such function or CPU.
    pub(crate) fn seen(&self, number: usize, cpu: usize) -> Option<FunctionSeen> {
        let is_there = number < FUNCTIONS && cpu < self.cpus();
        let line = is_there.then(|| number / FUNCTIONS_IN_LINE * self.cpus() + cpu)?;
        self.seen.get(line * FUNCTIONS_IN_LINE + number % FUNCTIONS_IN_LINE)
    }
}
