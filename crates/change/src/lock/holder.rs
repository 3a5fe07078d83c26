//! Who holds a lock of flock(2): /proc/locks (fs/locks.c) names the process and the file.

use std::os::unix::fs::MetadataExt;
use std::path::Path;

use machine::{Class, Fault};

use crate::ledger;

/// That another process holds the lock of the ledgers in `dir`, and what it is about.
pub fn fault(dir: &Path) -> Fault {
    let pid = dir.metadata().ok().and_then(|file| {
        let locks = std::fs::read_to_string("/proc/locks").ok()?;
        of_file(&locks, (rustix::fs::major(file.dev()), rustix::fs::minor(file.dev()), file.ino()))
    });
    let Some(pid) = pid else {
        let remedy = "wait for it to end, and look with 'pinwise status'";
        return Fault::new(Class::No, dir.display(), "another pinwise is changing this machine", remedy);
    };
    let purpose = purpose_of(dir, pid).map(|purpose| format!(" ({purpose})")).unwrap_or_default();
    let cause = format!("process {pid}{purpose} is changing this machine");
    let remedy = format!(
        "wait for it to end, or stop it with Ctrl-C or kill -INT {pid}: it undoes its changes itself; if it does not react, \
         kill -KILL {pid} and run 'pinwise undo'"
    );
    Fault::new(Class::No, dir.display(), cause, remedy)
}

/// What the session of that process is for. An undo has none.
fn purpose_of(dir: &Path, pid: u32) -> Option<String> {
    let sessions = ledger::sessions(dir).ok()?;
    let mut headers = sessions.into_iter().rev().filter_map(|session| session.header);
    headers.find(|header| header.owner.pid == pid).map(|header| header.purpose)
}

/// The process that holds an exclusive lock of flock(2) on the file of these device numbers and inode. A process in a PID
/// namespace that cannot be seen from here has no line.
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
