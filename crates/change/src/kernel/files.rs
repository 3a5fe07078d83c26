//! Files that the kernel shows: those of procfs, sysfs and cgroup hierarchies, and those of one process.

#[cfg(any(test, feature = "emulated"))]
mod emulated;
mod live;
mod presence;
mod process_file;

use std::io;
use std::path::Path;

use machine::{ProcessFile, ProcessRef};

/// Reads and writes files.
///
/// `netns` names the network namespace (/run/netns/NAME) whose view of /proc and /sys counts; `None` is the one that
/// this kernel is seen from.
pub trait Files {
    /// The whole content of a file.
    ///
    /// # Errors
    /// Those of open(2) and read(2); the content is not UTF-8; there is no such namespace, or it cannot be entered.
    fn read_file(&self, path: &Path, netns: Option<&str>) -> io::Result<String>;

    /// Writes `value` and a newline to an existing file of procfs, sysfs or a cgroup hierarchy, in one write(2).
    ///
    /// # Errors
    /// `InvalidInput` for a file on any other file system; what the kernel refuses the value with.
    fn write_file(&self, path: &Path, value: &str, netns: Option<&str>) -> io::Result<()>;

    /// Whether this process may write a file (access(2)), which is not written.
    ///
    /// # Errors
    /// `EROFS` on a read-only mount; `EACCES`; `ENOENT`.
    fn may_write(&self, path: &Path, netns: Option<&str>) -> io::Result<()>;

    /// Whether a file or folder is there, readable or not.
    ///
    /// # Errors
    /// The path cannot be searched; the file system that would show the file is not mounted here, so that its absence
    /// proves nothing.
    fn exists(&self, path: &Path, netns: Option<&str>) -> io::Result<bool>;

    /// The content of a file of /proc/PID: of this process, never of a later one with the same number.
    ///
    /// # Errors
    /// `ESRCH` when the process has gone.
    fn read_process_file(&self, process: &ProcessRef, file: ProcessFile) -> io::Result<String>;

    /// Writes a number to a file of /proc/PID: of this process, never of a later one with the same number.
    ///
    /// # Errors
    /// `ESRCH` when the process has gone; what the kernel refuses the number with.
    fn write_process_file(&self, process: &ProcessRef, file: ProcessFile, value: i32) -> io::Result<()>;
}
