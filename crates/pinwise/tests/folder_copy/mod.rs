//! A copy of a folder, to be damaged.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

/// Copies a folder with all that is in it; links as links.
pub fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap().map(Result::unwrap) {
        let target = to.join(entry.file_name());
        match entry.file_type().unwrap() {
            kind if kind.is_dir() => copy(&entry.path(), &target),
            kind if kind.is_symlink() => symlink(fs::read_link(entry.path()).unwrap(), target).unwrap(),
            // Not fs::copy: it copies the mode as well, which may not let us write.
            _ => fs::write(target, fs::read(entry.path()).unwrap()).unwrap(),
        }
    }
}
