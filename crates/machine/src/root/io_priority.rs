//! The priority of a thread's disk requests, which no file shows.

use super::ReadError;

/// `io_priority TID` is what ioprio_get(2) returns for thread TID, as a decimal number. It is kept in a capture when a
/// reader has asked for it.
pub(crate) const IO_PRIORITY: &str = "io_priority ";

/// Asks the kernel. `fact` is the whole name, for errors.
pub(super) fn query(fact: &str, tid: &str) -> Result<String, ReadError> {
    const WHO_PROCESS: libc::c_int = 1; // IOPRIO_WHO_PROCESS: one thread, in spite of its name
    let tid: libc::c_int =
        tid.parse().map_err(|_| ReadError::absent(fact, "this is not a number of a thread"))?;
    // SAFETY: no pointers.
    match unsafe { libc::syscall(libc::SYS_ioprio_get, WHO_PROCESS, tid) } {
        raw if raw < 0 => match std::io::Error::last_os_error() {
            gone if gone.raw_os_error() == Some(libc::ESRCH) => {
                Err(ReadError::absent(fact, "there is no such thread"))
            }
            error => Err(ReadError::from_io(fact, &error)),
        },
        raw => Ok(raw.to_string()),
    }
}
