//! What the kernel said about a call that is made past rustix.

use rustix::io::Errno;

/// The error of the last call of this thread.
pub(crate) fn last_error() -> Errno {
    Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL)
}
