//! Whether a file is there. If it is not found, that proves its absence only where it would have been seen.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::kernel::pseudo_files::OnFileSystem;
use crate::kernel::pseudo_files::magic::{CGROUP, CGROUP2, DEBUGFS, PROC, SYSFS, TRACEFS};

/// Whether there is a file.
///
/// # Errors
/// The path cannot be searched; the file system that would show the file is not mounted here, or only in part.
pub fn exists(path: &Path) -> io::Result<bool> {
    match fs::metadata(path) {
        Ok(_) => Ok(true),
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            shows_all(path).map(|()| false)
        }
        Err(error) => Err(error),
    }
}

/// Checks that a file at this path would have been seen.
///
/// # Errors
/// The file system that would show it is not mounted here, or only in part.
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
    // A procfs with subset=pid has no /proc/sys, and a substitute for /sys may be empty.
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
}
