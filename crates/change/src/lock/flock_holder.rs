//! Which process holds a lock of flock(2) on a file: /proc/locks (fs/locks.c) names both.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// The number of the process that holds an exclusive lock of flock(2) on this file or folder; `None` where none does, or it cannot be seen: it
/// is in another PID namespace, /proc/locks cannot be read, or that names another device than stat(2) does (btrfs, overlayfs).
pub(crate) fn of(path: &Path) -> Option<u32> {
    let file = path.metadata().ok()?;
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    of_file(&locks, (rustix::fs::major(file.dev()), rustix::fs::minor(file.dev()), file.ino()))
}

/// The same by these lines, of the file of these device numbers and inode. A process in a PID namespace that cannot be seen from here has no
/// line.
fn of_file(locks: &str, (major, minor, inode): (u32, u32, u64)) -> Option<u32> {
    let file = format!("{major:02x}:{minor:02x}:{inode}");
    locks.lines().find_map(|line| {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words[..] {
            [_, "FLOCK", _, "WRITE", pid, of, ..] if of == file => pid.parse().ok(),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOCKS: &str = "1: POSIX  ADVISORY  WRITE 812 00:1a:999 0 EOF\n\
                         2: FLOCK  ADVISORY  WRITE 4711 fe:00:1310991 0 EOF\n\
                         2: -> FLOCK  ADVISORY  WRITE 4712 fe:00:1310991 0 EOF\n";

    #[test]
    fn the_holder_is_the_process_of_the_line_of_the_file() {
        assert_eq!(of_file(LOCKS, (0xfe, 0, 1_310_991)), Some(4711));
        assert_eq!(of_file(LOCKS, (0xfe, 0, 1)), None);
        assert_eq!(of_file(LOCKS, (0, 0x1a, 999)), None, "a lock of fcntl is another one");
    }
}
