//! One pinwise at a time changes a machine: a lock on a file beside the ledgers, which the kernel releases whatever ends its holder.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use machine::{Class, Fault};
use rustix::fs::{FlockOperation, flock};

/// The lock; held until it is dropped, or the process ends in whatever way.
#[derive(Debug)]
pub struct MachineLock {
    _file: File,
}

impl MachineLock {
    /// Takes the lock of the ledgers in `dir`, and leaves a word about who holds it for those who come too late.
    ///
    /// Errors: another pinwise holds it (the fault says which, and what for); the folder cannot be written.
    pub fn take(dir: &Path, purpose: &str) -> Result<Self, Fault> {
        let path = dir.join("machine.lock");
        let at = |error: &io::Error| {
            Fault::io(path.display(), error, "set PINWISE_STATE_DIR to a folder that you may write to")
        };
        fs::DirBuilder::new().recursive(true).mode(0o700).create(dir).map_err(|e| at(&e))?;
        let mut options = OpenOptions::new();
        let mut file =
            options.create(true).read(true).append(true).mode(0o600).open(&path).map_err(|e| at(&e))?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => return Err(held(&mut file, &path)),
            Err(error) => return Err(at(&error.into())),
        }
        // The word is for people: without it (full disk) the lock holds all the same.
        let _ = file.set_len(0).and_then(|()| writeln!(file, "process {} ({purpose})", std::process::id()));
        Ok(Self { _file: file })
    }
}

fn held(file: &mut File, path: &Path) -> Fault {
    let mut by = String::new();
    let _ = file.rewind().and_then(|()| file.read_to_string(&mut by));
    let by = if by.trim().is_empty() { "another pinwise" } else { by.trim() };
    let cause = format!("{by} is changing this machine");
    Fault::new(
        Class::No,
        path.display(),
        cause,
        "wait for it to end, or stop it with Ctrl-C or kill -INT: it undoes its changes",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_second_is_told_who_the_first_is_and_may_come_when_it_has_gone() {
        let dir = tempfile::tempdir().unwrap();
        let first = MachineLock::take(dir.path(), "study: string server").unwrap();
        let fault = MachineLock::take(dir.path(), "apply").unwrap_err();
        let own = format!("process {} (study: string server)", std::process::id());
        assert!(fault.cause.starts_with(&own) && fault.class == Class::No, "{fault}");
        drop(first);
        MachineLock::take(dir.path(), "apply").unwrap();
    }
}
