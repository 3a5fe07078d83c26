//! Faults of the files of a case.

use std::fmt::Display;
use std::io;
use std::path::Path;

use machine::{Class, Fault};

/// What is wrong with a file or folder that cannot be read or written.
pub(super) fn storage(path: &Path, error: &io::Error) -> Fault {
    let remedy = match error.kind() {
        io::ErrorKind::StorageFull => "free some space; finished trials are kept",
        // What the kernel allows and OwnFolder does not.
        io::ErrorKind::PermissionDenied if error.raw_os_error().is_none() => {
            "check it; if you trust what it says, replace it with a file of your own"
        }
        io::ErrorKind::PermissionDenied => "choose a folder that you may write to with -o",
        io::ErrorKind::ReadOnlyFilesystem => "choose a folder on a writable file system with -o",
        _ => "check the file and its folder; finished trials are kept",
    };
    Fault::io(path.display(), error, remedy)
}

/// What is wrong with a file that says what no pinwise writes.
pub(super) fn malformed(object: impl Display, why: impl Display) -> Fault {
    Fault::new(
        Class::Storage,
        object,
        format!("malformed: {why}"),
        "restore the file from a copy, or run the study again",
    )
}

/// A line of a list of the case, the first counted as 0.
pub(super) fn place_of(dir: &Path, name: &str, number: usize) -> String {
    format!("{}:{}", dir.join(name).display(), number + 1)
}
