//! What the programs count of functions that the kernel runs on somebody's behalf.

use super::mapped::Mapped;
use super::records::{FUNCTIONS, FunctionSeen, FunctionsCame, KnownFunction};

/// The tables of functions. Each function has a number, the same on all CPUs.
pub(crate) struct FunctionTables {
    /// By number.
    pub(crate) known: Mapped<KnownFunction>,
    /// By CPU.
    pub(crate) came: Mapped<FunctionsCame>,
    /// [`FUNCTIONS`] rows of the first CPU, by number, then those of the next.
    pub(crate) seen: Mapped<FunctionSeen>,
}

impl FunctionTables {
    /// The highest number that any function has, and one; functions get low numbers first.
    pub(crate) fn numbers(&self) -> usize {
        (0..FUNCTIONS).rev().find(|number| self.function(*number).is_some()).map_or(0, |last| last + 1)
    }

    /// The function of a number, if one has it.
    pub(crate) fn function(&self, number: usize) -> Option<KnownFunction> {
        self.known.get(number).filter(|known| known.is_known != 0)
    }

    /// How often the functions of an even number and of the next came on a CPU, mod 2^32; `None` where there is no such CPU or number.
    pub(crate) fn pair_came(&self, cpu: usize, even: usize) -> Option<[u32; 2]> {
        let [a, b, c, d, e, f, g, h] = self.came.word(cpu, even / 2 * 8)?.to_ne_bytes();
        Some([u32::from_ne_bytes([a, b, c, d]), u32::from_ne_bytes([e, f, g, h])])
    }

    /// What a function did on a CPU.
    pub(crate) fn seen(&self, cpu: usize, number: usize) -> Option<FunctionSeen> {
        (number < FUNCTIONS).then(|| self.seen.get(cpu * FUNCTIONS + number))?
    }
}
