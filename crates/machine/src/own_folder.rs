//! Folders in which pinwise keeps files of its own: cases, rings, the cache of rehearsals.
//!
//! pinwise mostly runs as root, and may be given a folder that somebody else made. Whoever may write there could put a symbolic
//! link where pinwise writes a file, or a command into a file that pinwise goes by. So such a folder must belong to a user that
//! this process trusts anyway, and its files are reached through the open folder, never through a link.

mod below;
pub mod named;
mod owner;
mod replace;
#[cfg(test)]
mod tests;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _, Write as _};
use std::os::fd::{AsFd as _, AsRawFd as _, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, AtFlags, Dir, FlockOperation, Mode, OFlags};
use rustix::io::Errno;

use crate::{Class, Fault};

pub use self::owner::hand_to_caller;

/// Who may pass through a new folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// Only its owner (mode 0700).
    Owner,
    /// Everybody who knows the name of a file below (mode 0711): a server that becomes another user must reach its data.
    Passable,
    /// Everybody, who may read its files, too (mode 0755, less what umask(2) takes): what the user asks for by name.
    Everybody,
}

impl Reach {
    fn mode(self) -> Mode {
        Mode::from_raw_mode(match self {
            Reach::Owner => 0o700,
            Reach::Passable => 0o711,
            Reach::Everybody => 0o755,
        })
    }

    /// Of new files. What pinwise sees of a machine is nobody else's to read.
    fn mode_of_files(self) -> Mode {
        Mode::from_raw_mode(if self == Reach::Everybody { 0o644 } else { 0o600 })
    }
}

/// An open folder of pinwise's own. Names are those of entries in it; a relative path is taken for what is opened.
#[derive(Debug)]
pub struct OwnFolder {
    folder: OwnedFd,
    path: PathBuf,
    /// As it was made; of one that was there, its owner.
    reach: Reach,
}

/// A lock that is held for as long as this lives; the kernel lets go of it when the process dies.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl OwnFolder {
    /// Opens the folder at `path`.
    ///
    /// # Errors
    /// [`Class::NotPermitted`] where it is of dubious ownership: it belongs neither to the effective user nor to root nor, for root by
    /// sudo(8), to the user who called it; or everybody may write to it (in a sticky folder, too: others could put files there first).
    /// Other classes where it cannot be opened.
    pub fn open(path: &Path) -> Result<Self, Fault> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY;
        let opened = named::open_through_own_links(path, flags, Mode::empty());
        let folder = opened.map_err(|e| {
            Fault::io(path.display(), &e, "name a folder that is there and that you may read")
        })?;
        Self::checked(folder, path.to_path_buf(), Reach::Owner)
    }

    /// Opens the folder at `path`; where it does not exist, it is made, and with the usual mode those above it.
    ///
    /// # Errors
    /// As [`open`](Self::open); the folder cannot be made.
    pub fn make(path: &Path, reach: Reach) -> Result<Self, Fault> {
        let fault = |e: io::Error| Fault::io(path.display(), &e, "choose a folder that you may write to");
        if let Some(above) = path.parent().filter(|above| !above.as_os_str().is_empty()) {
            std::fs::create_dir_all(above).map_err(fault)?;
        }
        match rustix::fs::mkdir(path, reach.mode()) {
            Ok(()) => {
                // What was put in its place meanwhile is not what was made. A slash at the end would follow a link.
                let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
                let own: PathBuf = path.components().collect();
                let folder = rustix::fs::open(&own, flags, Mode::empty()).map_err(|e| fault(e.into()))?;
                Self::checked(folder, path.to_path_buf(), reach)
            }
            Err(Errno::EXIST) => Self::open(path),
            Err(e) => Err(fault(e.into())),
        }
    }

    fn checked(folder: OwnedFd, path: PathBuf, reach: Reach) -> Result<Self, Fault> {
        match owner::of_folder(&folder) {
            Ok(()) => Ok(Self { folder, path, reach }),
            Err(why) => {
                let remedy = "copy it (cp -r), look at the copy and use that, or run pinwise as that user";
                Err(Fault::new(Class::NotPermitted, path.display(), why, remedy))
            }
        }
    }

    /// Whether it is trusted only because its owner has called us by sudo(8): a service, which nobody calls, would refuse it.
    pub fn is_of_caller(&self) -> bool {
        rustix::fs::fstat(&self.folder).is_ok_and(|about| owner::is_of_caller(about.st_uid))
    }

    /// Where it lies, as it was named.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The same folder, opened again.
    ///
    /// # Errors
    /// There are no more descriptors.
    pub fn again(&self) -> io::Result<Self> {
        Ok(Self { folder: self.folder.try_clone()?, path: self.path.clone(), reach: self.reach })
    }

    /// Opens a folder in this one.
    ///
    /// # Errors
    /// There is none, a link is in its place, or it is of dubious ownership.
    pub fn folder(&self, name: &str) -> Result<Self, Fault> {
        let path = self.path.join(name);
        let opened = below::open(&self.folder, name, OFlags::RDONLY | OFlags::DIRECTORY, Mode::empty());
        let folder = opened.map_err(|e| {
            Fault::io(path.display(), &e, "look at what is there; pinwise makes it anew where nothing is")
        })?;
        Self::checked(folder, path, Reach::Owner)
    }

    /// Opens a folder in this one, which is made where it does not exist.
    ///
    /// # Errors
    /// As [`folder`](Self::folder); it cannot be made.
    pub fn make_folder(&self, name: &str, reach: Reach) -> Result<Self, Fault> {
        match below::plain(name).and_then(|()| Ok(rustix::fs::mkdirat(&self.folder, name, reach.mode())?)) {
            Err(e) if e.kind() != io::ErrorKind::AlreadyExists => {
                let remedy = "free some space, or choose a folder that you may write to";
                Err(Fault::io(self.path.join(name).display(), &e, remedy))
            }
            _ => Ok(Self { reach, ..self.folder(name)? }),
        }
    }

    /// Opens the folder at a relative path in this one; those that do not exist are made, with the reach of this one.
    ///
    /// # Errors
    /// As [`make_folder`](Self::make_folder).
    pub fn make_folders(&self, path: &str) -> Result<Self, Fault> {
        let again =
            self.again().map_err(|e| Fault::io(self.path.display(), &e, "raise the limit of open files"))?;
        path.split('/')
            .filter(|step| !step.is_empty())
            .try_fold(again, |at, step| at.make_folder(step, self.reach))
    }

    /// Makes a folder in this one, in place of whatever has its name.
    ///
    /// # Errors
    /// As [`make_folder`](Self::make_folder); what is there cannot be removed.
    pub fn fresh_folder(&self, name: &str, reach: Reach) -> Result<Self, Fault> {
        self.remove_all(name).map_err(|e| {
            Fault::io(self.path.join(name).display(), &e, "remove it, or choose another folder")
        })?;
        self.make_folder(name, reach)
    }

    /// Whether something has this name here, be it a link.
    pub fn holds(&self, name: &str) -> bool {
        rustix::fs::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Names of all that is here.
    ///
    /// # Errors
    /// The folder cannot be read.
    pub fn names(&self) -> io::Result<Vec<OsString>> {
        let all = Dir::read_from(&self.folder)?
            .map(|entry| Ok(OsString::from_vec(entry?.file_name().to_bytes().to_vec())));
        let is_entry =
            |name: &io::Result<OsString>| !name.as_ref().is_ok_and(|name| name == "." || name == "..");
        all.filter(is_entry).collect()
    }

    /// Reads a file.
    ///
    /// # Errors
    /// It is not there; it is a link, no regular file, or of dubious ownership; reading fails.
    pub fn read(&self, name: &str) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        self.file(name, OFlags::RDONLY)?.read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Makes a file, to be written to.
    ///
    /// # Errors
    /// Something has this name already, be it a link.
    pub fn create(&self, name: &str) -> io::Result<File> {
        self.file(name, OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL)
    }

    /// Opens a file to read it and to add to its end; it is made where it does not exist.
    ///
    /// # Errors
    /// It is a link, no regular file, or of dubious ownership; it cannot be opened.
    pub fn append(&self, name: &str) -> io::Result<File> {
        self.file(name, OFlags::RDWR | OFlags::CREATE | OFlags::APPEND)
    }

    fn file(&self, name: &str, flags: OFlags) -> io::Result<File> {
        let mode = if flags.contains(OFlags::CREATE) { self.reach.mode_of_files() } else { Mode::empty() };
        let file = below::open(&self.folder, name, flags, mode)?;
        owner::of_file(&file)?;
        Ok(File::from(file))
    }

    /// Writes a file whole or not at all: a reader sees the old one or the new one, which is on disk then.
    ///
    /// # Errors
    /// It cannot be written; then nothing new is left behind.
    pub fn replace(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        self.replace_with(name, |file| file.write_all(bytes))
    }

    /// As [`replace`](Self::replace), with what `write` writes.
    ///
    /// # Errors
    /// As [`replace`](Self::replace), and those of `write`.
    pub fn replace_with(
        &self,
        name: &str,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        below::plain(name)?;
        replace::at(self.folder.as_fd(), name.as_ref(), self.reach.mode_of_files(), write)
    }

    /// Removes what processes that were killed left of [`replace`](Self::replace). For whoever has the folder's lock.
    pub fn sweep(&self) {
        for name in self.names().unwrap_or_default() {
            if let Some(name) = name.to_str().filter(|name| replace::is_part(name)) {
                let _ = self.remove(name);
            }
        }
    }

    /// Removes a file, or the link in its place.
    ///
    /// # Errors
    /// It is not there, is a folder, or may not be removed.
    pub fn remove(&self, name: &str) -> io::Result<()> {
        below::plain(name)?;
        Ok(rustix::fs::unlinkat(&self.folder, name, AtFlags::empty())?)
    }

    /// Removes a file, or a folder with all that is in it. Links are removed, not followed. Nothing is there: nothing is to be done.
    ///
    /// # Errors
    /// Something cannot be removed, or there is no /proc.
    pub fn remove_all(&self, name: &str) -> io::Result<()> {
        match self.remove(name) {
            Err(e) if e.kind() == io::ErrorKind::NotFound => Ok(()),
            // What unlink(2) says of a folder: EISDIR on Linux, EPERM by POSIX.
            Err(_) if self.is_folder(name) => std::fs::remove_dir_all(self.in_proc().join(name)),
            removed => removed,
        }
    }

    fn is_folder(&self, name: &str) -> bool {
        let about = rustix::fs::statat(&self.folder, name, AtFlags::SYMLINK_NOFOLLOW);
        about.is_ok_and(|about| rustix::fs::FileType::from_raw_mode(about.st_mode).is_dir())
    }

    /// Takes the lock of the folder, if nobody has it.
    ///
    /// # Errors
    /// `WouldBlock` where somebody has it.
    pub fn lock(&self) -> io::Result<Lock> {
        self.try_lock(FlockOperation::NonBlockingLockExclusive)
    }

    /// Whether anybody has the lock of the folder. Those who only ask do not find each other; whoever wants the lock at that very
    /// moment is refused it, and has to try again.
    ///
    /// # Errors
    /// It cannot be found out.
    pub fn is_locked(&self) -> io::Result<bool> {
        match self.try_lock(FlockOperation::NonBlockingLockShared) {
            Ok(_) => Ok(false),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(true),
            Err(error) => Err(error),
        }
    }

    fn try_lock(&self, how: FlockOperation) -> io::Result<Lock> {
        // A description of its own: that of this folder may live longer.
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let file = rustix::fs::openat(&self.folder, ".", flags, Mode::empty())?;
        Lock::on(File::from(file), how)
    }

    /// Takes the lock of a file in it, if nobody has it; the file is made where it does not exist, and what it holds stays.
    ///
    /// # Errors
    /// `WouldBlock` where somebody has it; as [`append`](Self::append).
    pub fn lock_file(&self, name: &str) -> io::Result<Lock> {
        Lock::on(self.append(name)?, FlockOperation::NonBlockingLockExclusive)
    }

    /// Has the kernel write the names of its files to the disk (fsync).
    ///
    /// # Errors
    /// The disk fails.
    pub fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.folder)?)
    }

    /// Has the kernel write all regular files in it, and their names, to the disk. Folders below are left to it.
    ///
    /// # Errors
    /// The disk fails; the path of the file, and how.
    pub fn sync_files(&self) -> Result<(), (PathBuf, io::Error)> {
        let of = |name: &OsString| self.path.join(name);
        for name in self.names().map_err(|e| (self.path.clone(), e))? {
            let about = rustix::fs::statat(&self.folder, &name, AtFlags::SYMLINK_NOFOLLOW);
            // Opening a pipe or socket would wait, or fail.
            if !about.is_ok_and(|about| rustix::fs::FileType::from_raw_mode(about.st_mode).is_file()) {
                continue;
            }
            let opened = below::open(&self.folder, &name, OFlags::RDONLY, Mode::empty());
            match opened.and_then(|file| Ok(rustix::fs::fsync(&file)?)) {
                // Removed meanwhile.
                Err(e) if e.kind() == io::ErrorKind::NotFound => {}
                synced => synced.map_err(|e| (of(&name), e))?,
            }
        }
        self.sync().map_err(|e| (self.path.clone(), e))
    }

    /// Whether files can be added.
    ///
    /// # Errors
    /// Why not: the file system is read-only, or this user may not write there.
    pub fn may_be_written(&self) -> io::Result<()> {
        Ok(rustix::fs::accessat(&self.folder, ".", Access::WRITE_OK, AtFlags::EACCESS)?)
    }

    /// The open folder as a path, for functions that take no descriptor (proc_pid_fd(5)).
    fn in_proc(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.folder.as_raw_fd()))
    }
}

impl Lock {
    fn on(file: File, how: FlockOperation) -> io::Result<Self> {
        rustix::fs::flock(&file, how)?;
        Ok(Self { _file: file })
    }
}
