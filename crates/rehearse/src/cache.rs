//! The folder where kernels, roots and the folders of running guests lie.

use std::fs::File;
use std::path::{Path, PathBuf};

use machine::own_folder::{Reach, named};
use machine::{Class, Fault, OwnFolder};
use rustix::fs::FlockOperation;

/// Where things are kept: `$PINWISE_CACHE`, else `pinwise` below `$XDG_CACHE_HOME` or `~/.cache`.
///
/// # Errors
/// When none of the variables is set, the folder cannot be made, or it is of dubious ownership (as [`OwnFolder::open`]).
pub fn folder() -> Result<PathBuf, Fault> {
    let set = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    let folder = set("PINWISE_CACHE")
        .or_else(|| set("XDG_CACHE_HOME").map(|cache| cache.join("pinwise")))
        .or_else(|| set("HOME").map(|home| home.join(".cache/pinwise")));
    let folder = folder.ok_or_else(|| {
        Fault::new(
            Class::Storage,
            "the cache",
            "neither PINWISE_CACHE nor HOME is set",
            "set PINWISE_CACHE to a folder",
        )
    })?;
    make(&folder)?;
    // QEMU and the guest's 9p take absolute paths.
    let folder = folder.canonicalize().map_err(|e| storage(&folder, &e))?;
    match folder.to_str() {
        Some(_) => Ok(folder),
        None => {
            let cause = "its name is no UTF-8, which QEMU's options cannot carry";
            Err(Fault::new(Class::Storage, folder.display(), cause, "set PINWISE_CACHE to another folder"))
        }
    }
}

/// Makes a folder and those above it. One that is there must be ours: kernels and roots in it are booted.
pub(crate) fn make(folder: &Path) -> Result<(), Fault> {
    OwnFolder::make(folder, Reach::Everybody).map(drop).map_err(|fault| Fault {
        remedy: "set PINWISE_CACHE to a folder of your own, with room".into(),
        ..fault
    })
}

/// A fault of the file system about `path`.
pub(crate) fn storage(path: &Path, error: &std::io::Error) -> Fault {
    Fault::io(path.display(), error, "set PINWISE_CACHE to a folder with room that you may write")
}

/// Room that a guest needs for its exit code and its last output, bytes.
const LEAST_ROOM_BYTES: u64 = 64 << 10;

/// That there is room where `path` lies: a guest whose disk or files took it cannot write down how it ended.
pub(crate) fn room(path: &Path) -> Result<(), Fault> {
    let free = rustix::fs::statvfs(path).map_err(|e| storage(path, &e.into()))?;
    match free.f_bavail.saturating_mul(free.f_frsize) < LEAST_ROOM_BYTES {
        true => Err(storage(path, &rustix::io::Errno::NOSPC.into())),
        false => Ok(()),
    }
}

/// A lock on a file, held for as long as this lives; the kernel lets go of it when the process dies.
#[derive(Debug)]
pub(crate) struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for the lock.
    pub(crate) fn wait(path: &Path) -> Result<Self, Fault> {
        let file = open(path)?;
        rustix::fs::flock(&file, FlockOperation::LockExclusive).map_err(|e| storage(path, &e.into()))?;
        Ok(Self { _file: file })
    }

    /// Takes the lock if nobody has it.
    pub(crate) fn attempt(path: &Path) -> Result<Option<Self>, Fault> {
        let file = open(path)?;
        match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Self { _file: file })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(e) => Err(storage(path, &e.into())),
        }
    }
}

fn open(path: &Path) -> Result<File, Fault> {
    named::open(path).map(|(file, _)| file).map_err(|e| storage(path, &e))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_where_tests_run_and_none_where_nothing_is() {
        room(Path::new("/dev/shm")).or_else(|_| room(Path::new("/"))).unwrap();
        assert!(room(Path::new("/proc")).unwrap_err().to_string().contains("No space left"));
    }

    #[test]
    fn a_cache_of_another_user_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        make(&folder.path().join("kernels")).unwrap();
        if !rustix::process::geteuid().is_root() {
            return eprintln!("skipped: only root may give files away");
        }
        std::os::unix::fs::chown(folder.path().join("kernels"), Some(65_534), None).unwrap();
        let fault = make(&folder.path().join("kernels")).unwrap_err();
        assert!(
            fault.cause.contains("dubious ownership") && fault.remedy.contains("PINWISE_CACHE"),
            "{fault}"
        );
    }

    #[test]
    fn a_lock_is_held_by_one_and_let_go_when_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("lock");
        let held = Lock::attempt(&path).unwrap();
        assert!(held.is_some());
        assert!(Lock::attempt(&path).unwrap().is_none());
        drop(held);
        assert!(Lock::attempt(&path).unwrap().is_some());
    }
}
