//! Reading what the programs count of functions that the kernel runs on somebody's behalf, and nothing again that has not come since.

use std::sync::Arc;

use crate::bpf::{FUNCTIONS, FunctionSeen, FunctionTables};

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
    /// The highest number among them, and one.
    numbers: usize,
    /// For each CPU as many as there are numbers: what is known of each function there.
    known: Vec<Known>,
    /// The next reading is written in the place of the last one, where nobody has that any more.
    read: Arc<Functions>,
}

/// What the last reading found.
#[derive(Debug, Clone, Copy, Default)]
struct Known {
    /// How often the function had come, mod 2^32.
    came: u32,
    /// The place among those that were read, and one; 0: it never came.
    place: u32,
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
            changed.for_each(|cpu| self.read_cpu(tables, cpu));
        } else {
            // A function may have come before it was looked for, on a CPU where nothing happened since.
            (self.made, self.numbers) = (Some(made), tables.numbers());
            all.for_each(|cpu| self.read_cpu(tables, cpu));
        }
        Arc::clone(&self.read)
    }

    fn read_cpu(&mut self, tables: &FunctionTables, cpu: u32) {
        let first = cpu as usize * FUNCTIONS;
        if self.known.len() < first + FUNCTIONS {
            self.known.resize(first + FUNCTIONS, Known::default());
        }
        for even in (0..self.numbers).step_by(2) {
            let Some(came) = tables.pair_came(cpu as usize, even) else { return };
            for (number, came) in (even..).zip(came) {
                if came != self.known[first + number].came {
                    self.read_function(tables, cpu, number, came);
                }
            }
        }
    }

    /// Reads a function on a CPU between two times that it came.
    fn read_function(&mut self, tables: &FunctionTables, cpu: u32, number: usize, came: u32) {
        let Some(seen) = settled(|| tables.seen(cpu as usize, number)) else { return };
        let known = &mut self.known[cpu as usize * FUNCTIONS + number];
        let read = Arc::make_mut(&mut self.read);
        if known.place == 0 {
            let Some(function) = tables.function(number) else { return };
            read.push((FunctionKey { address: function.address, cpu, kind: function.kind }, seen));
            known.place = read.len() as u32;
        }
        read[known.place as usize - 1].1 = seen;
        // What was looked at before the rest was read: if that was being written still, this word changes when it has been, and it is
        // read again.
        known.came = came;
    }
}

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
