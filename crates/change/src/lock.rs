//! One pinwise at a time changes a machine, whether it applies, studies, undoes, reverts or confirms: a lock on the folder of the
//! ledgers, which the kernel releases whatever ends its holder.
//!
//! The folder itself is locked and no file in it: that takes no write, so that an undo works on a disk that is full or has been
//! remounted read-only (flock(2) needs no more than an open descriptor).

pub(crate) mod flock_holder;
mod holder;

use std::io;
use std::path::Path;

use machine::Fault;
use machine::own_folder::{Lock, OwnFolder, Reach};

use crate::ledger;

/// The lock; held until it is dropped, or the process ends in whatever way.
#[derive(Debug)]
pub struct MachineLock {
    _lock: Lock,
}

impl MachineLock {
    /// Takes the lock of the ledgers in `dir`, and makes the folder where it is missing.
    ///
    /// # Errors
    /// Another pinwise holds it (the fault names its process and what it does); the folder belongs to somebody else, or cannot be made
    /// or opened.
    pub fn take(dir: &Path) -> Result<Self, Fault> {
        Self::of(&OwnFolder::make(dir, Reach::Owner)?)
    }

    /// The same where there are ledgers; `None` where the folder is missing.
    ///
    /// # Errors
    /// As [`take`](Self::take).
    pub fn take_existing(dir: &Path) -> Result<Option<Self>, Fault> {
        ledger::folder(dir)?.map(|folder| Self::of(&folder)).transpose()
    }

    fn of(folder: &OwnFolder) -> Result<Self, Fault> {
        match folder.lock() {
            Ok(lock) => Ok(Self { _lock: lock }),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Err(holder::fault(folder.path())),
            Err(error) => {
                Err(Fault::io(folder.path().display(), &error, "keep the ledgers on a local file system"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use machine::Class;

    use super::*;

    #[test]
    fn the_second_learns_who_holds_it_and_gets_it_when_the_first_has_gone() {
        let dir = tempfile::tempdir().unwrap();
        let first = MachineLock::take(dir.path()).unwrap();
        for second in
            [MachineLock::take(dir.path()).map(drop), MachineLock::take_existing(dir.path()).map(drop)]
        {
            let fault = second.unwrap_err();
            let own = format!("process {}", std::process::id());
            assert!(fault.cause.contains(&own) && fault.class == Class::No, "{fault}");
            assert!(fault.remedy.contains(&format!("kill -INT {}", std::process::id())), "{fault}");
        }
        drop(first);
        MachineLock::take(dir.path()).unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_written_can_be_locked() {
        let dir = tempfile::tempdir().unwrap();
        fs::set_permissions(dir.path(), std::os::unix::fs::PermissionsExt::from_mode(0o500)).unwrap();
        assert!(MachineLock::take_existing(dir.path()).unwrap().is_some());
        assert!(MachineLock::take_existing(&dir.path().join("missing")).unwrap().is_none());
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0, "nothing is written for it");
    }
}
