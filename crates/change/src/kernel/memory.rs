//! Memory: on which NUMA nodes a process has it, and the files that the kernel swaps to.

#[cfg(any(test, feature = "emulated"))]
mod emulated;
mod live;
mod nodes;
pub(crate) mod swap;

use std::collections::BTreeMap;
use std::io;
use std::path::Path;

use machine::{CpuSet, ProcessRef};

/// Reads and moves the memory of processes, and manages swap files.
pub trait Memory {
    /// Bytes of a process's memory on each node that has any (/proc/PID/numa_maps).
    ///
    /// # Errors
    /// `ESRCH` when the process is ending; `Unsupported` on a kernel without nodes (CONFIG_NUMA).
    fn node_memory(&self, process: &ProcessRef) -> io::Result<BTreeMap<u32, u64>>;

    /// migrate_pages(2), from some nodes to others. Pages that cannot be moved stay where they are, which is no error.
    fn migrate_pages(&self, pid: u32, from: &CpuSet, to: &CpuSet) -> io::Result<()>;

    /// Moves pages until each node has the same share of the process's memory as in `wanted` (bytes by node), as far
    /// as they can be moved (move_pages(2)).
    fn spread_pages(&self, process: &ProcessRef, wanted: &BTreeMap<u32, u64>) -> io::Result<()>;

    /// Writes a swap area of so many bytes into a new file, as mkswap(8) does.
    ///
    /// # Errors
    /// `AlreadyExists`; `StorageFull`; `PermissionDenied` for a caller that could not use it.
    fn make_swap_file(&self, path: &Path, bytes: u64) -> io::Result<()>;

    /// Removes a swap file of pinwise.
    ///
    /// # Errors
    /// `InvalidInput` when the name is not one that pinwise gives to swap files.
    fn remove_swap_file(&self, path: &Path) -> io::Result<()>;

    /// Whether the kernel swaps to this file (/proc/swaps).
    fn swaps_to(&self, path: &Path) -> io::Result<bool>;

    /// swapon(2), with the highest priority.
    fn swap_on(&self, path: &Path) -> io::Result<()>;

    /// swapoff(2).
    fn swap_off(&self, path: &Path) -> io::Result<()>;
}
