//! SIGTERM and SIGINT as something that epoll can wait for.

use std::os::fd::{FromRawFd, OwnedFd};

use rustix::io::Errno;

use crate::errno::last_error;

/// Blocks SIGTERM and SIGINT for the calling thread and gives a descriptor that becomes readable when one arrives
/// (signalfd(2)). Call it before other threads start: they inherit the mask.
pub(crate) fn terminate() -> Result<OwnedFd, Errno> {
    // SAFETY: sigset_t is plain data that sigemptyset fills; every pointer is to a live local; signalfd gives a new
    // descriptor that nobody else owns.
    unsafe {
        let mut set: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&mut set);
        libc::sigaddset(&mut set, libc::SIGTERM);
        libc::sigaddset(&mut set, libc::SIGINT);
        let error = libc::pthread_sigmask(libc::SIG_BLOCK, &set, std::ptr::null_mut());
        if error != 0 {
            return Err(Errno::from_raw_os_error(error));
        }
        match libc::signalfd(-1, &set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK) {
            -1 => Err(last_error()),
            fd => Ok(OwnedFd::from_raw_fd(fd)),
        }
    }
}
