//! Results of system calls that libc and rustix do not wrap.

use std::io;

/// The error in errno, if the result says that there is one.
pub fn check(result: libc::c_long) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}
