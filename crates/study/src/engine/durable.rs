//! A trial's folder on disk for good, before the line that says that the trial is finished.

use std::fs::{self, File};
use std::path::Path;

use machine::Fault;

const REMEDY: &str = "check the disk (dmesg), or choose another folder with -o";

/// Writes the files of a trial's folder, the folder, and the folder above it through to the disk (fsync). What a server
/// made in folders of its own below is left to the kernel.
///
/// # Errors
/// The disk refuses: its error, and the file.
pub(super) fn sync_folder(dir: &Path) -> Result<(), Fault> {
    let fault = |path: &Path, error: std::io::Error| Fault::io(path.display(), &error, REMEDY);
    for entry in fs::read_dir(dir).map_err(|e| fault(dir, e))? {
        let path = entry.map_err(|e| fault(dir, e))?.path();
        // Opening a pipe or socket would wait, or fail.
        if path.symlink_metadata().is_ok_and(|about| about.is_file()) {
            sync(&path).map_err(|e| fault(&path, e))?;
        }
    }
    let above = dir.parent().filter(|above| !above.as_os_str().is_empty());
    [Some(dir), above].into_iter().flatten().try_for_each(|dir| sync(dir).map_err(|e| fault(dir, e)))
}

fn sync(path: &Path) -> std::io::Result<()> {
    match File::open(path).and_then(|file| file.sync_all()) {
        // Removed meanwhile.
        Err(e) if e.kind() == std::io::ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_with_whatever_a_server_leaves_there_is_synced() {
        let dir = tempfile::tempdir().unwrap();
        let trial = dir.path().join("0003");
        fs::create_dir_all(trial.join("database")).unwrap();
        fs::write(trial.join("observation.json"), "{}").unwrap();
        std::os::unix::fs::symlink("/nowhere", trial.join("link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(trial.join("socket")).unwrap();
        sync_folder(&trial).unwrap();
        let fault = sync_folder(&dir.path().join("0004")).unwrap_err();
        assert!(fault.object.contains("0004"), "{fault}");
    }
}
