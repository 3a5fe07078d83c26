//! Reading what the programs count of functions that the kernel runs on somebody's behalf, and nothing again that has not come since.

use std::sync::Arc;

use super::bits::{differing, numbers_in};
use crate::bpf::{FUNCTIONS_IN_ROW, FunctionSeen, FunctionTables, FunctionsCame, Record as _, expect_all};

/// A function on a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FunctionKey {
    /// Of its first instruction; 0 where the kernel does not tell it.
    pub(crate) address: u64,
    pub(crate) cpu: u32,
    /// `enum function_kind`.
    pub(crate) kind: u32,
}

/// Functions by CPU, and what they did.
pub(crate) type Functions = Vec<(FunctionKey, FunctionSeen)>;

/// Functions, and how they were at the last reading.
#[derive(Default)]
pub(super) struct Reader {
    /// Functions that had a number, when they were looked through.
    made: Option<u64>,
    /// Functions in a row, of which some have a number.
    rows: usize,
    /// How often they had come at the last reading, for each CPU of the first row, then of the next.
    came: Vec<FunctionsCame>,
    /// Likewise their places among those that were read, and one; 0 of those that never came.
    places: Vec<[u32; FUNCTIONS_IN_ROW]>,
    /// The next reading is written in the place of the last one, where nobody has that any more.
    read: Arc<Functions>,
}

/// A function that came on a CPU.
#[derive(Debug, Clone, Copy)]
struct Fresh {
    row: usize,
    cpu: u32,
    /// Which of the row.
    at: usize,
    /// How often, mod 2^32.
    came: u32,
}

impl Reader {
    /// Reads. `made` is how many functions have ever been given a number, read before this is called; `changed` are the CPUs on which
    /// anything happened since the last reading, `all` the CPUs.
    pub(super) fn read(
        &mut self,
        tables: &FunctionTables,
        made: u64,
        changed: impl Iterator<Item = u32>,
        all: impl Iterator<Item = u32>,
    ) -> Arc<Functions> {
        if self.made == Some(made) {
            self.read_cpus(tables, &changed.collect::<Vec<_>>());
        } else {
            // A function may have come before it was looked for, on a CPU where nothing happened since.
            self.made = Some(made);
            self.rows = tables.numbers().div_ceil(FUNCTIONS_IN_ROW);
            self.came.resize(self.rows * tables.cpus(), FunctionsCame::zeroed());
            self.places.resize(self.rows * tables.cpus(), Default::default());
            self.read_cpus(tables, &all.collect::<Vec<_>>());
        }
        Arc::clone(&self.read)
    }

    /// Reads these CPUs, some at a time: what is read of all of them is asked for before any of it is waited for.
    fn read_cpus(&mut self, tables: &FunctionTables, cpus: &[u32]) {
        let mut fresh = Vec::new();
        for row in 0..self.rows {
            self.expect(tables, row, cpus.chunks(AT_A_TIME).next());
            for (number, some) in cpus.chunks(AT_A_TIME).enumerate() {
                self.expect(tables, row, cpus.chunks(AT_A_TIME).nth(number + 1));
                fresh.clear();
                some.iter().for_each(|cpu| self.look(tables, row, *cpu, &mut fresh));
                fresh.iter().for_each(|fresh| self.read_function(tables, *fresh));
            }
        }
    }

    /// Has the processor fetch what tells which functions came on these CPUs; it does not wait for it.
    fn expect(&self, tables: &FunctionTables, row: usize, cpus: Option<&[u32]>) {
        for cpu in cpus.into_iter().flatten() {
            tables.expect_came(row, *cpu as usize);
            let last = self.came.get(row * tables.cpus() + *cpu as usize);
            last.into_iter().for_each(|last| expect_all(std::slice::from_ref(last)));
        }
    }

    /// Looks which functions of a row came on a CPU since the last reading, and has what is there of them fetched.
    fn look(&self, tables: &FunctionTables, row: usize, cpu: u32, fresh: &mut Vec<Fresh>) {
        let Some(now) = tables.came(row, cpu as usize) else { return };
        let place = row * tables.cpus() + cpu as usize;
        for at in numbers_in(differing(&now.came, &self.came[place].came)) {
            tables.expect_seen(row, cpu as usize, at);
            let last =
                (self.places[place][at] as usize).checked_sub(1).and_then(|place| self.read.get(place));
            last.into_iter().for_each(|last| expect_all(std::slice::from_ref(last)));
            fresh.push(Fresh { row, cpu, at, came: now.came[at] });
        }
    }

    fn read_function(&mut self, tables: &FunctionTables, fresh: Fresh) {
        let Fresh { row, cpu, at, came } = fresh;
        let Some(seen) = settled(|| tables.seen(row, cpu as usize, at)) else { return };
        let of_cpu = row * tables.cpus() + cpu as usize;
        let place = &mut self.places[of_cpu][at];
        let read = Arc::make_mut(&mut self.read);
        if *place == 0 {
            let Some(function) = tables.function(row * FUNCTIONS_IN_ROW + at) else { return };
            read.push((FunctionKey { address: function.address, cpu, kind: function.kind }, seen));
            *place = read.len() as u32;
        }
        read[*place as usize - 1].1 = seen;
        // What was looked at before the rest was read: if that was being written still, this word changes when it has been, and it is
        // read again.
        self.came[of_cpu].came[at] = came;
    }
}

/// On how many CPUs at a time functions are looked for before they are read.
const AT_A_TIME: usize = 8;

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
