//! Opening what lies below an open folder, without following links.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

/// How often openat2(2) is tried: it fails with EAGAIN while something is renamed, and the manual says to try again.
const TRIES: usize = 16;

/// Opens `name` below `folder`; a symbolic link anywhere in it is an error. A pipe or a device does not block.
pub(super) fn open(
    folder: impl AsFd,
    name: impl AsRef<Path>,
    flags: OFlags,
    mode: Mode,
) -> io::Result<OwnedFd> {
    let (folder, name) = (folder.as_fd(), name.as_ref());
    let flags = flags | OFlags::CLOEXEC | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY;
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
    let mut opened = Err(Errno::AGAIN);
    for _ in 0..TRIES {
        opened = rustix::fs::openat2(folder, name, flags, mode, resolve);
        if opened.as_ref().err() != Some(&Errno::AGAIN) {
            break;
        }
    }
    // Linux before 5.6 has no openat2, and some containers forbid it.
    let opened = match opened {
        Err(Errno::NOSYS | Errno::PERM) => step_by_step(folder, name, flags, mode),
        opened => opened,
    };
    opened.map_err(|e| in_words(folder, name, e))
}

/// The same, folder by folder.
pub(super) fn step_by_step(
    folder: impl AsFd,
    name: &Path,
    flags: OFlags,
    mode: Mode,
) -> Result<OwnedFd, Errno> {
    let through = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let mut steps = name.components().peekable();
    let mut at: Option<OwnedFd> = None;
    while let Some(step) = steps.next() {
        let Component::Normal(step) = step else { return Err(Errno::XDEV) };
        let (flags, mode) = if steps.peek().is_some() { (through, Mode::empty()) } else { (flags, mode) };
        let from = at.as_ref().map_or(folder.as_fd(), |at| at.as_fd());
        let next = rustix::fs::openat(from, step, flags, mode)?;
        at = Some(next);
    }
    at.ok_or(Errno::NOENT)
}

/// What the kernel says of a link, so that a reader sees what is meant.
fn in_words(folder: impl AsFd, name: &Path, error: Errno) -> io::Error {
    let is_link = || {
        let about = rustix::fs::statat(folder, name, rustix::fs::AtFlags::SYMLINK_NOFOLLOW);
        about.is_ok_and(|about| rustix::fs::FileType::from_raw_mode(about.st_mode).is_symlink())
    };
    // A link where a folder is wanted is ENOTDIR.
    if error == Errno::LOOP || (error == Errno::NOTDIR && is_link()) {
        let why = "a symbolic link is in its place, which pinwise does not follow in a folder of its own";
        return io::Error::new(io::ErrorKind::PermissionDenied, why);
    }
    error.into()
}

/// That a name is one of an entry in the folder itself.
pub(super) fn plain(name: &str) -> io::Result<()> {
    let mut parts = Path::new(name).components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(part)), None) if part.len() == name.len() => Ok(()),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, format!("'{name}' is not a name of a file"))),
    }
}
