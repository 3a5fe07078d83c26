//! The name of a guest that its own command line alone tells.

use super::ReadError;
use crate::procfs::guest_command_line;

/// `guest_name PID` is what `-name` of process PID says (qemu(1)). It is a fact, and no file, so that a capture has the name and
/// nothing else of the arguments, which may hold secrets.
pub(crate) const GUEST_NAME: &str = "guest_name ";

/// Reads the command line. `fact` is the whole name, for errors.
pub(super) fn query(fact: &str, pid: &str) -> Result<String, ReadError> {
    let pid: u32 = pid.parse().map_err(|_| ReadError::absent(fact, "this is no number of a process"))?;
    let path = format!("/proc/{pid}/cmdline");
    let bytes = std::fs::read(&path).map_err(|e| ReadError::from_io(&path, &e))?;
    let name = guest_command_line::parse(&String::from_utf8_lossy(&bytes)).name;
    name.ok_or_else(|| ReadError::absent(fact, "the process was started without -name"))
}
