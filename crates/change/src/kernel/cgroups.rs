//! Control groups (cgroups(7)).

#[cfg(any(test, feature = "emulated"))]
mod emulated;
mod live;

use std::io;
use std::path::{Path, PathBuf};

/// Makes, removes and fills cgroups. A cgroup is named by its directory.
pub trait Cgroups {
    /// Whether the directory is there.
    fn is_dir(&self, path: &Path) -> bool;

    /// Makes a cgroup.
    ///
    /// # Errors
    /// `AlreadyExists`; `InvalidInput` when the parent is not a cgroup.
    fn make_dir(&self, path: &Path) -> io::Result<()>;

    /// Removes an empty cgroup. Waits a moment for processes that are ending: one that was killed leaves its cgroup later than it
    /// disappears from /proc.
    ///
    /// # Errors
    /// `NotFound`; `ResourceBusy` if it still has processes after that.
    fn remove_dir(&self, path: &Path) -> io::Result<()>;

    /// Directory of the cgroup that a process is in, within the hierarchy that contains `near`.
    ///
    /// # Errors
    /// `Unsupported` when its threads are in several cgroups; `ESRCH` when it is ending.
    fn process_cgroup(&self, pid: u32, near: &Path) -> io::Result<PathBuf>;

    /// Moves a process with all its threads into a cgroup (`cgroup.procs`).
    ///
    /// # Errors
    /// `NotFound` when there is no such cgroup; `ESRCH` when there is no such process.
    fn join_cgroup(&self, pid: u32, path: &Path) -> io::Result<()>;
}
