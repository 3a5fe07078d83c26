//! Who will take a session back by itself: a lock on its ledger for as long as that process lives, by which 'status' knows.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{FlockOperation, flock};

/// Marks the ledger of an open file as followed until the file is closed.
pub(crate) fn follow(file: &File) -> io::Result<()> {
    Ok(flock(file, FlockOperation::LockExclusive)?)
}

/// Whether a revert is at work that would take the session of this ledger back.
pub(crate) fn is_followed(path: &Path) -> io::Result<bool> {
    match flock(&File::open(path)?, FlockOperation::NonBlockingLockShared) {
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(true),
        taken => Ok(taken.map(|()| false)?),
    }
}
