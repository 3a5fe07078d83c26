//! The name of a guest that stands on its command line alone.

use std::fs::File;

use super::ReadError;
use crate::procfs::guest_command_line;
use crate::untrusted;

/// More arguments than a program can be started with (fs/exec.c, 6 MiB): a process can say that they lie anywhere in its memory
/// (prctl(2), PR_SET_MM_MAP).
const MOST_BYTES: u64 = 8 << 20;

/// `guest_name PID` is what `-name` of process PID says (qemu(1)). It is a fact, and no file, so that a capture has the name and
/// nothing else of the arguments, which may hold secrets.
pub(crate) const GUEST_NAME: &str = "guest_name ";

/// Reads the command line. `fact` is the whole name, for errors.
pub(super) fn query(fact: &str, pid: &str) -> Result<String, ReadError> {
    let pid: u32 = pid.parse().map_err(|_| ReadError::absent(fact, "this is not a number of a process"))?;
    let path = format!("/proc/{pid}/cmdline");
    let bytes = File::open(&path).and_then(|file| untrusted::file::read_open(file, MOST_BYTES));
    let bytes = bytes.map_err(|e| ReadError::from_io(&path, &e))?;
    let name = guest_command_line::parse(&String::from_utf8_lossy(&bytes)).name;
    name.ok_or_else(|| ReadError::absent(fact, "the process was started without -name"))
}
