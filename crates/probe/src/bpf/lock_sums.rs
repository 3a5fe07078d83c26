//! The programs that sum up how long threads wait at futexes, and who lets them go on.

use aya::maps::{HashMap, MapData};
use machine::Missing;

use super::hooks::{BIRTHS, WAKES};
use super::loading::{Loaded, Programs};
use super::lock_records::{LockKey, LockSum};
use super::mapped::Mapped;
use super::objects;
use super::stack_records::{StackControl, StackFrames};
use super::tables::{hash, mapped};

/// Stacks that are kept, 1 KiB each, which the kernel sets aside at once.
const STACKS: u32 = 1 << 12;
/// Sums: of futexes, and stacks of those who wait and of those who wake.
const SUMS: u32 = 1 << 13;
/// Futexes of which the last release is remembered.
const FUTEXES: u32 = 1 << 12;
/// Processes that are named as the target.
const WANTED: u32 = 1_024;

/// Loads and attaches them. Nothing is counted before the tables say so.
///
/// # Errors
/// When the kernel has no trace points with types, or does not permit programs: what, why and the remedy.
pub(crate) fn load() -> Result<Loaded, Missing> {
    let tables = vec![("stacks", STACKS), ("locks", SUMS), ("released_at", FUTEXES), ("wanted", WANTED)];
    let core = [BIRTHS, WAKES].into_iter().flatten().collect();
    let numbers = vec![("futex_call", libc::SYS_futex as u32)];
    Programs { numbers, follows_threads: true, ..Programs::typed(&objects::LOCKS, tables, core) }.load()
}

/// The tables of these programs.
pub(crate) struct LockTables {
    pub(crate) control: Mapped<StackControl>,
    pub(crate) wanted: HashMap<MapData, u32, u32>,
    pub(crate) locks: HashMap<MapData, LockKey, LockSum>,
    /// By the hash of their frames.
    pub(crate) stacks: HashMap<MapData, u64, StackFrames>,
}

impl LockTables {
    /// Maps and opens the tables.
    ///
    /// # Errors
    /// When the kernel refuses one: which, and its word.
    pub(crate) fn open(loaded: &mut Loaded) -> Result<Self, Missing> {
        Ok(Self {
            control: mapped(loaded, "control", 1)?,
            wanted: hash(loaded, "wanted")?,
            locks: hash(loaded, "locks")?,
            stacks: hash(loaded, "stacks")?,
        })
    }
}
