//! Reading what the programs count of functions that the kernel runs on somebody's behalf, and nothing again that has not come since.

use std::sync::Arc;

use machine::CpuSet;

use super::bit_sets::{differing, numbers_in};
use super::sparse_table::SparseTable;
use crate::bpf::{
    FUNCTION_ROWS, FUNCTIONS, FUNCTIONS_IN_ROW, FunctionSeen, FunctionTables, FunctionsCame, KnownFunction,
};

/// What functions did on the CPUs, as it was read.
#[derive(Debug, Clone, Default)]
pub(crate) struct Functions {
    read: Option<Arc<Read>>,
    /// Only these CPUs are shown; `None`: all.
    cpus: Option<CpuSet>,
}

/// A function on a CPU.
#[derive(Debug, Clone, Copy)]
pub(crate) struct FunctionOf<'a> {
    /// Its number, the same on all CPUs.
    pub(crate) number: usize,
    pub(crate) cpu: u32,
    pub(crate) seen: &'a FunctionSeen,
}

impl Functions {
    /// Only what was done on these CPUs.
    pub(in crate::account) fn on(self, cpus: &CpuSet) -> Self {
        Self { cpus: Some(cpus.clone()), ..self }
    }

    /// Functions by number; `None` where nobody has it.
    pub(crate) fn known(&self) -> &[Option<KnownFunction>] {
        self.read.as_ref().map_or(&[], |read| &read.known)
    }

    /// Those that came, by number and then by CPU.
    pub(crate) fn iter(&self) -> impl Iterator<Item = FunctionOf<'_>> {
        let read = self.read.as_deref();
        let rows = read.into_iter().flat_map(|read| {
            (0..read.known.len()).filter_map(|number| Some((number, read.seen.row(number)?)))
        });
        let cells = rows.flat_map(|(number, cells)| {
            cells.iter().enumerate().map(move |(cpu, seen)| FunctionOf { number, cpu: cpu as u32, seen })
        });
        let is_told = |cpu: u32| self.cpus.as_ref().is_none_or(|cpus| cpus.contains(cpu));
        cells.filter(move |function| function.seen.all.count > 0 && is_told(function.cpu))
    }
}

/// A reading of all CPUs that there is room for. It lies as the kernel's tables do: what a function did on all CPUs side by side.
#[derive(Debug, Clone)]
struct Read {
    known: Vec<Option<KnownFunction>>,
    /// By number.
    seen: SparseTable<FunctionSeen>,
}

/// Functions, and how they were at the last reading.
#[derive(Default)]
pub(in crate::account) struct Reader {
    /// Functions that had a number, when they were looked through.
    made: Option<u64>,
    /// How often they had come at the last reading, row by row of functions.
    came: Option<SparseTable<FunctionsCame>>,
    /// The next reading is written in the place of the last one, where nobody has that any more.
    read: Option<Arc<Read>>,
}

impl Reader {
    /// Reads. `made` is how many functions have ever been given a number, read before this is called; `changed` are the CPUs on which
    /// anything happened since this was called last, `all` the CPUs.
    pub(in crate::account) fn read(
        &mut self,
        tables: &FunctionTables,
        made: u64,
        changed: Vec<u32>,
        all: impl Iterator<Item = u32>,
    ) -> Functions {
        let nothing =
            || Arc::new(Read { known: Vec::new(), seen: SparseTable::with_room(FUNCTIONS, tables.cpus()) });
        let read = Arc::make_mut(self.read.get_or_insert_with(nothing));
        let came = self.came.get_or_insert_with(|| SparseTable::with_room(FUNCTION_ROWS, tables.cpus()));
        let cpus: Vec<u32> = if self.made == Some(made) {
            changed
        } else {
            // A function may have come before it was looked for, on a CPU where nothing happened since.
            self.made = Some(made);
            read.known = (0..tables.numbers()).map(|number| tables.function(number)).collect();
            all.collect()
        };
        for cpus in cpus.chunks(AT_A_TIME) {
            for row in 0..read.known.len().div_ceil(FUNCTIONS_IN_ROW) {
                read.read_row(tables, row, cpus, came.row_mut(row));
            }
        }
        self.last()
    }

    /// The last reading; none came where there was none.
    pub(in crate::account) fn last(&self) -> Functions {
        Functions { read: self.read.clone(), cpus: None }
    }
}

impl Read {
    /// Reads which functions of a row came on these CPUs since the last reading, and then what they did, one function after the other.
    fn read_row(&mut self, tables: &FunctionTables, row: usize, cpus: &[u32], came: &mut [FunctionsCame]) {
        let mut fresh = [0_u64; FUNCTIONS_IN_ROW];
        for (place, cpu) in cpus.iter().enumerate() {
            let Some(now) = tables.came(row, *cpu as usize) else { continue };
            // What is looked at before the rest is read: if that is being written still, this word changes when it has been, and it is
            // read again.
            let before = std::mem::replace(&mut came[*cpu as usize], now);
            numbers_in(differing(&now.came, &before.came)).for_each(|at| fresh[at] |= 1 << place);
        }
        for (at, places) in fresh.into_iter().enumerate().filter(|(_, places)| *places != 0) {
            let number = row * FUNCTIONS_IN_ROW + at;
            let cells = self.seen.row_mut(number);
            for cpu in numbers_in(places).map(|place| cpus[place] as usize) {
                cells[cpu] = settled(|| tables.seen(number, cpu)).unwrap_or(cells[cpu]);
            }
        }
    }
}

/// On how many CPUs at a time a function is read: there is a bit for each in a word.
const AT_A_TIME: usize = u64::BITS as usize;

/// What is read twice alike, if that comes within some tries; else what was read last.
fn settled(read: impl Fn() -> Option<FunctionSeen>) -> Option<FunctionSeen> {
    let mut last = read()?;
    for _ in 0..TRIES {
        let now = read()?;
        if now == last {
            break;
        }
        last = now;
    }
    Some(last)
}

/// How often a record is read when it changes meanwhile. A program in the kernel is done within a us.
const TRIES: usize = 100;

#[cfg(test)]
mod tests;
