//! The programs that sum up what threads did by stacks: those with which they left the CPU, or samples of what they do on one.

use aya::maps::{HashMap, MapData};
use machine::Missing;

use super::hooks::{BIRTHS, TIMERS, WOKEN};
use super::loading::{Loaded, Programs};
use super::mapped::Mapped;
use super::objects;
use super::stack_records::{StackControl, StackFrames, StackKey, StackSum};
use super::tables::{hash, mapped};

/// Stacks that are distinguished, 1 KiB each, which the kernel sets aside at once.
const STACKS: u32 = 1 << 14;

/// Sums: of stacks, names of threads and what they did.
const SUMS: u32 = 1 << 14;

/// Processes or threads that are named as the target.
const WANTED: u32 = 1_024;

fn tables() -> Vec<(&'static str, u32)> {
    vec![("stacks", STACKS), ("sums", SUMS), ("wanted", WANTED)]
}

/// Loads and attaches them. Nothing is counted before the tables say so.
///
/// # Errors
/// When the kernel has no trace points with types, or does not permit programs: what, why and the remedy.
pub(crate) fn load() -> Result<Loaded, Missing> {
    let core = [BIRTHS, WOKEN].into_iter().flatten().collect();
    Programs { follows_threads: true, ..Programs::typed(&objects::STACKS, tables(), core) }.load()
}

/// Loads and attaches the programs that sample stacks. Nothing is counted before the tables say so.
///
/// # Errors
/// When the kernel does not report its types, has no trace point of timer interrupts (x86 alone has), or does not permit programs: what, why
/// and the remedy.
pub(crate) fn load_profile() -> Result<Loaded, Missing> {
    let core = [BIRTHS, TIMERS].into_iter().flatten().collect();
    Programs::typed(&objects::PROFILE, tables(), core).load()
}

/// The tables of these programs.
pub(crate) struct StackTables {
    pub(crate) control: Mapped<StackControl>,
    pub(crate) wanted: HashMap<MapData, u32, u32>,
    pub(crate) sums: HashMap<MapData, StackKey, StackSum>,
    /// By the hash of their frames.
    pub(crate) stacks: HashMap<MapData, u64, StackFrames>,
}

impl StackTables {
    /// Maps and opens the tables.
    ///
    /// # Errors
    /// When the kernel refuses one: which, and its word.
    pub(crate) fn open(loaded: &mut Loaded) -> Result<Self, Missing> {
        Ok(Self {
            control: mapped(loaded, "control", 1)?,
            wanted: hash(loaded, "wanted")?,
            sums: hash(loaded, "sums")?,
            stacks: hash(loaded, "stacks")?,
        })
    }
}
