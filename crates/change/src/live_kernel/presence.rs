//! Whether something is there. That it cannot be found shows that only where it would have been seen.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::OnFileSystem;

/// Numbers of include/uapi/linux/magic.h.
const PROC: u64 = 0x9fa0;
const SYSFS: u64 = 0x6265_6572;
const CGROUP: u64 = 0x0027_e0eb;
const CGROUP2: u64 = 0x6367_7270;
const DEBUGFS: u64 = 0x6462_6720;
const TRACEFS: u64 = 0x7472_6163;

/// Whether there is a file.
///
/// # Errors
/// What keeps it from being looked at; the kernel's file system on which it would lie is not mounted here, or only in part.
pub fn exists(path: &Path) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            shows_all(path).map(|()| false)
        }
        Err(error) => Err(error),
    }
}

/// That a file which is not found at this path is not there.
fn shows_all(path: &Path) -> io::Result<()> {
    let wanted: &[u64] = match path {
        _ if path.starts_with("/proc") => &[PROC],
        _ if path.starts_with("/sys/fs/cgroup") => &[CGROUP, CGROUP2],
        _ if path.starts_with("/sys/kernel/debug") => &[DEBUGFS, TRACEFS],
        _ if path.starts_with("/sys") => &[SYSFS],
        _ => return Ok(()),
    };
    let nearest: PathBuf =
        path.ancestors().skip(1).find(|above| above.exists()).unwrap_or(Path::new("/")).into();
    // A procfs with subset=pid has no /proc/sys, and what stands in for /sys may have nothing.
    let is_top = nearest.components().count() <= 2;
    match nearest.magic() {
        Ok(magic) if wanted.contains(&magic) && !is_top => Ok(()),
        Ok(_) => {
            let why = format!(
                "{} does not show the kernel's files here: mount it, or run this where it is mounted",
                nearest.display()
            );
            Err(io::Error::other(why))
        }
        Err(error) => Err(error),
    }
}

/// Why the files of a thread could not be read. Without a procfs, or with one that hides the processes of others (hidepid), a thread
/// that is there looks like one that has ended; kill(2) tells them apart.
pub fn of_thread(tid: u32, error: io::Error) -> io::Error {
    if error.kind() != io::ErrorKind::NotFound {
        return error;
    }
    let Ok(number) = libc::pid_t::try_from(tid) else { return error };
    // SAFETY: no pointers; signal 0 is none.
    let there = unsafe { libc::kill(number, 0) } == 0
        || io::Error::last_os_error().raw_os_error() != Some(libc::ESRCH);
    match there {
        true => {
            let why = format!(
                "process or thread {tid} is there, and /proc does not show it (hidepid, or not mounted)"
            );
            io::Error::new(io::ErrorKind::PermissionDenied, why)
        }
        false => error,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_kernel_would_show_is_gone_and_what_it_would_not_is_not_known() {
        assert!(!exists(Path::new("/proc/sys/kernel/no_such_file")).unwrap());
        assert!(exists(Path::new("/proc/sys/kernel/ostype")).unwrap());
        assert!(!exists(Path::new("/sys/class/net/no-such-interface/mtu")).unwrap());
        assert!(
            exists(Path::new("/proc/no_such_folder/x")).is_err(),
            "it could be one that subset=pid hides"
        );
        assert!(!exists(Path::new("/no/such/file")).unwrap());
    }

    #[test]
    fn a_thread_that_is_there_is_not_gone_because_its_file_is_not_found() {
        let error = || io::Error::from(io::ErrorKind::NotFound);
        assert_eq!(of_thread(std::process::id(), error()).kind(), io::ErrorKind::PermissionDenied);
        assert_eq!(of_thread(i32::MAX as u32, error()).kind(), io::ErrorKind::NotFound);
    }
}
