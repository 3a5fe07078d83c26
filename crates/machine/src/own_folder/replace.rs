//! Writing a file whole or not at all.

use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::os::fd::BorrowedFd;

use rustix::fs::{AtFlags, Mode, OFlags};
use rustix::io::Errno;
use rustix::rand::GetRandomFlags;

const ENDING: &str = ".part";

/// Writes to a new file beside it, fsyncs, and renames that. Nobody knows its name before, so that nothing can lie there.
pub(super) fn at(
    folder: BorrowedFd<'_>,
    name: &OsStr,
    mode: Mode,
    write: impl FnOnce(&mut File) -> io::Result<()>,
) -> io::Result<()> {
    let part = part_of(name)?;
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut file = File::from(rustix::fs::openat(folder, &part, flags, mode)?);
    let written = write(&mut file).and_then(|()| file.sync_all());
    let renamed = written.and_then(|()| Ok(rustix::fs::renameat(folder, &part, folder, name)?));
    if renamed.is_err() {
        let _ = rustix::fs::unlinkat(folder, &part, AtFlags::empty());
        return renamed;
    }
    match rustix::fs::fsync(folder) {
        // Some file systems have no such call for folders.
        Err(Errno::INVAL) => Ok(()),
        synced => Ok(synced?),
    }
}

/// A name that cannot be foreseen.
fn part_of(name: &OsStr) -> io::Result<String> {
    let mut random = [0; 16];
    rustix::rand::getrandom(&mut random, GetRandomFlags::empty())?;
    Ok(format!(".{}.{:032x}{ENDING}", name.to_string_lossy(), u128::from_ne_bytes(random)))
}

/// Whether a name is one of those.
pub(super) fn is_part(name: &str) -> bool {
    let random = name.strip_prefix('.').and_then(|name| name.strip_suffix(ENDING)?.rsplit_once('.'));
    random.is_some_and(|(_, random)| random.len() == 32 && random.bytes().all(|b| b.is_ascii_hexdigit()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_distinguished_from_other_files() {
        let part = part_of("report.html".as_ref()).unwrap();
        assert!(is_part(&part), "{part}");
        assert_ne!(part, part_of("report.html".as_ref()).unwrap());
        for other in ["report.html.part", ".part", ".report.html.part", ".bashrc"] {
            assert!(!is_part(other), "{other}");
        }
    }
}
