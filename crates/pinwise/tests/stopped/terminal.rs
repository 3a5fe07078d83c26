//! A terminal (pty(7)) that a test can close.

use std::ffi::CStr;
use std::fs::{File, OpenOptions};
use std::io::Read as _;
use std::os::fd::{AsRawFd as _, FromRawFd as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::process::Command;

/// Our side of it. Dropped, it is closed: whoever is on it is hung up on.
pub struct Terminal {
    ours: File,
}

impl Terminal {
    pub fn new() -> Self {
        // SAFETY: no pointers; the descriptor is new and ours.
        let ours = unsafe {
            let fd = libc::posix_openpt(libc::O_RDWR | libc::O_NOCTTY | libc::O_CLOEXEC | libc::O_NONBLOCK);
            assert!(fd >= 0 && libc::grantpt(fd) == 0 && libc::unlockpt(fd) == 0);
            File::from_raw_fd(fd)
        };
        Self { ours }
    }

    /// Has what is started lead a session of its own on the terminal, with SIGHUP as said.
    pub fn controls(&self, command: &mut Command, hang_up: libc::sighandler_t) {
        let mut name = [0; 64];
        // SAFETY: the name is written into `name`, of that length, with its end.
        let theirs = unsafe {
            assert_eq!(libc::ptsname_r(self.ours.as_raw_fd(), name.as_mut_ptr(), name.len()), 0);
            CStr::from_ptr(name.as_ptr()).to_str().unwrap()
        };
        let theirs =
            OpenOptions::new().read(true).write(true).custom_flags(libc::O_NOCTTY).open(theirs).unwrap();
        command.stdin(theirs.try_clone().unwrap());
        command.stdout(theirs.try_clone().unwrap()).stderr(theirs);
        // SAFETY: signal(2), setsid(2) and ioctl(2) are all that the child calls between fork and exec.
        unsafe {
            command.pre_exec(move || {
                libc::signal(libc::SIGHUP, hang_up);
                match libc::setsid() >= 0 && libc::ioctl(0, libc::TIOCSCTTY, 0) == 0 {
                    true => Ok(()),
                    false => Err(std::io::Error::last_os_error()),
                }
            });
        }
    }

    /// Takes what was printed on it, so that nobody waits for room.
    pub fn drain(&mut self) {
        let mut bytes = [0; 4096];
        while self.ours.read(&mut bytes).is_ok_and(|read| read > 0) {}
    }
}
