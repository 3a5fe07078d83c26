//! Whose files are taken for pinwise's own.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;

use rustix::fs::{FileType, Gid, Stat, Uid};

/// Anybody may write (chmod(1), o+w).
const OTHERS_WRITE: u32 = 0o002;

/// Whether what belongs to `uid` is taken for our own: the effective user's, root's, and, for root by sudo(8), the caller's, who could
/// have run the command that we run.
pub(super) fn is_trusted(uid: u32) -> bool {
    let ours = rustix::process::geteuid().as_raw();
    trusted(uid, ours, variable("SUDO_UID"))
}

/// Whether the caller of sudo(8) alone makes it so.
pub(super) fn is_of_caller(uid: u32) -> bool {
    let ours = rustix::process::geteuid().as_raw();
    of_caller(uid, ours, variable("SUDO_UID"))
}

fn of_caller(uid: u32, ours: u32, caller: Option<u32>) -> bool {
    trusted(uid, ours, caller) && !trusted(uid, ours, None)
}

fn trusted(uid: u32, ours: u32, caller: Option<u32>) -> bool {
    uid == ours || uid == 0 || (ours == 0 && caller == Some(uid))
}

fn variable(name: &str) -> Option<u32> {
    std::env::var(name).ok()?.parse().ok()
}

/// Gives a file that people read to the user who called pinwise by sudo(8), where there is one. Not for files that pinwise goes by.
pub fn hand_to_caller(file: &File) {
    let caller = variable("SUDO_UID").zip(variable("SUDO_GID"));
    if let Some((uid, gid)) = caller.filter(|_| rustix::process::geteuid().is_root()) {
        // Some file systems keep no owners.
        let _ = rustix::fs::fchown(file, Some(Uid::from_raw(uid)), Some(Gid::from_raw(gid)));
    }
}

/// Why a folder is none in which pinwise keeps its files.
pub(super) fn of_folder(folder: impl AsFd) -> Result<(), String> {
    let about = rustix::fs::fstat(folder).map_err(|e| e.to_string())?;
    whose(&about).and_then(|()| match about.st_mode & OTHERS_WRITE {
        0 => Ok(()),
        _ => Err("everybody may write to it (chmod o-w takes that away): dubious ownership".into()),
    })
}

/// Why a file is none that pinwise writes to, or goes by.
pub(super) fn of_file(file: impl AsFd) -> io::Result<()> {
    let refused = |why: String| Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
    let about = rustix::fs::fstat(file)?;
    if !FileType::from_raw_mode(about.st_mode).is_file() {
        return refused("it is not a regular file".into());
    }
    if let Err(why) = whose(&about) {
        return refused(why);
    }
    if about.st_mode & OTHERS_WRITE != 0 {
        return refused("everybody may write to it (chmod o-w takes that away)".into());
    }
    // A file of ours elsewhere, which somebody put here under a second name, is not to be changed.
    match about.st_nlink {
        0 | 1 => Ok(()),
        names => refused(format!(
            "it has {names} names (hard links), and would be changed under all of them: copy it"
        )),
    }
}

fn whose(about: &Stat) -> Result<(), String> {
    match is_trusted(about.st_uid) {
        true => Ok(()),
        false => Err(format!("belongs to {}: dubious ownership", in_words(about.st_uid))),
    }
}

/// A user by number and, where it is known, name.
pub(super) fn in_words(uid: u32) -> String {
    let known = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    match name_of(uid, &known) {
        Some(name) => format!("user {uid} ({name})"),
        None => format!("user {uid}"),
    }
}

/// From the lines of /etc/passwd (passwd(5)).
fn name_of(uid: u32, known: &str) -> Option<&str> {
    known.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        (fields.nth(1)?.parse() == Ok(uid)).then_some(name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_caller_of_sudo_is_trusted_by_root_alone() {
        let (root, alice, bob) = (0, 1000, 1001);
        assert!(trusted(root, root, None) && trusted(alice, alice, None) && trusted(root, alice, None));
        assert!(!trusted(alice, root, None) && !trusted(bob, alice, None));
        assert!(trusted(alice, root, Some(alice)) && !trusted(bob, root, Some(alice)));
        assert!(!trusted(bob, alice, Some(bob)), "anybody may set a variable");
    }

    #[test]
    fn a_folder_of_the_caller_is_distinguished_from_one_of_root() {
        let (root, alice) = (0, 1000);
        assert!(of_caller(alice, root, Some(alice)));
        assert!(!of_caller(root, root, Some(alice)) && !of_caller(alice, root, None));
        assert!(!of_caller(alice, alice, Some(alice)) && !of_caller(root, root, Some(root)));
    }

    #[test]
    fn users_have_names() {
        let known = "root:x:0:0:root:/root:/bin/sh\nalice:x:1000:1000::/home/alice:/bin/sh\n";
        assert_eq!(name_of(1000, known), Some("alice"));
        assert_eq!(name_of(100, known), None);
    }
}
