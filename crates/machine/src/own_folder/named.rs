//! Files that the user names: they may lie anywhere, and be a pipe or a device.

use std::fs::File;
use std::io;
use std::os::fd::{AsFd as _, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, PROC_SUPER_MAGIC};
use rustix::io::Errno;

use super::{owner, replace};
use crate::untrusted;

/// As many links as the kernel follows (path_resolution(7)).
const MOST_LINKS: usize = 40;

/// The longest file that is read: a case of somebody else must not fill the memory. A list of 160,000 trials has some 250 MB.
const MOST_BYTES: u64 = 1 << 30;

/// Mode of new files, less what umask(2) takes: the user has chosen their place.
const MODE: Mode = Mode::from_raw_mode(0o666);

/// Opens the file at `path` to write to it, and makes it where it does not exist; whether it was made. What it holds stays.
///
/// # Errors
/// It cannot be opened; it is a symbolic link that another user than ourselves, root, or the caller of sudo has made.
pub fn open(path: &Path) -> io::Result<(File, bool)> {
    let flags = OFlags::WRONLY | OFlags::CREATE;
    match rustix::fs::openat(CWD, path, flags | OFlags::EXCL | OFlags::CLOEXEC, MODE) {
        Err(Errno::EXIST) => open_through_own_links(path, flags, MODE).map(|file| (File::from(file), false)),
        opened => Ok((File::from(opened?), true)),
    }
}

/// Makes the file at `path`.
///
/// # Errors
/// Something is there already, be it a link; it cannot be made.
pub fn create(path: &Path) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    Ok(File::from(rustix::fs::openat(CWD, path, flags, MODE)?))
}

/// Writes the file at `path` whole or not at all, in place of what is there; a link there is replaced, not followed.
///
/// # Errors
/// Those of `write`; it cannot be written. Then nothing new is left behind.
pub fn replace_with(path: &Path, write: impl FnOnce(&mut File) -> io::Result<()>) -> io::Result<()> {
    let name = path.file_name().ok_or(Errno::ISDIR)?;
    let above = path.parent().filter(|above| !above.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let above = rustix::fs::openat(CWD, above, flags, Mode::empty())?;
    replace::at(above.as_fd(), name, MODE, write)
}

/// Reads the regular file at `path`, whosever it is.
///
/// # Errors
/// Those of [`untrusted::file::open_named`]; `FileTooLarge` where it is longer than 1 GiB.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    untrusted::file::read_named(path, MOST_BYTES)
}

/// As [`read`], of text.
///
/// # Errors
/// As [`read`]; it is no UTF-8.
pub fn read_to_string(path: &Path) -> io::Result<String> {
    String::from_utf8(read(path)?)
        .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "it is not UTF-8 text"))
}

/// Opens `path`; a symbolic link there is followed where a user that we trust has made it.
pub(super) fn open_through_own_links(path: &Path, flags: OFlags, mode: Mode) -> io::Result<OwnedFd> {
    // Without a slash at its end, which would follow.
    let mut path: PathBuf = path.components().collect();
    let flags = flags | OFlags::CLOEXEC | OFlags::NOCTTY;
    for _ in 0..MOST_LINKS {
        let refused = match rustix::fs::openat(CWD, &path, flags | OFlags::NOFOLLOW, mode) {
            // A link where a folder is wanted is ENOTDIR.
            Err(e @ (Errno::LOOP | Errno::NOTDIR)) => e,
            opened => return Ok(opened?),
        };
        let link =
            rustix::fs::openat(CWD, &path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())?;
        let about = rustix::fs::fstat(&link)?;
        if !FileType::from_raw_mode(about.st_mode).is_symlink() {
            return Err(refused.into());
        }
        if !owner::is_trusted(about.st_uid) {
            let why =
                format!("it is a symbolic link of {}, which is not followed", owner::in_words(about.st_uid));
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, why));
        }
        // /dev/stdout and its like lead to what this process has open, which has no path.
        if rustix::fs::fstatfs(&link)?.f_type == PROC_SUPER_MAGIC {
            return Ok(rustix::fs::openat(CWD, &path, flags, mode)?);
        }
        let to = rustix::fs::readlinkat(&link, c"", Vec::new())?;
        let to = to.into_string().map_err(|_| Errno::NOENT)?;
        path.pop();
        path.push(to);
    }
    Err(Errno::LOOP.into())
}
