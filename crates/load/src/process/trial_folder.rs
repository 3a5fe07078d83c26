//! What pinwise writes into the folder of a trial when its load has ended.

use machine::{Fault, OwnFolder};

/// The folder of a trial, for when its load has ended.
///
/// # Errors
/// There are no more descriptors.
pub(crate) fn again(dir: &OwnFolder) -> Result<OwnFolder, Fault> {
    dir.again().map_err(|e| Fault::io(dir.path().display(), &e, "raise the limit of open files (ulimit -n)"))
}

/// Writes a file into the folder of a trial, whole or not at all.
///
/// # Errors
/// It cannot be written.
pub(crate) fn write(dir: &OwnFolder, name: &str, bytes: &[u8]) -> Result<(), Fault> {
    dir.replace(name, bytes).map_err(|e| {
        let remedy = "free some space, or choose another folder";
        Fault::io(dir.path().join(name).display(), &e, remedy)
    })
}
