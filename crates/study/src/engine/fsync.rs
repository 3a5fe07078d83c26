//! A trial's folder on disk for good, before the line that says that the trial is finished.

use machine::{Fault, OwnFolder};

const REMEDY: &str = "check the disk (dmesg), or choose another folder with -o";

/// Writes the files of a trial's folder, the folder, and the folder above it through to the disk (fsync). What a server
/// made in folders of its own below is left to the kernel.
///
/// # Errors
/// The disk refuses: its error, and the file.
pub(super) fn sync_folder(trial: &OwnFolder, above: &OwnFolder) -> Result<(), Fault> {
    let above_synced = |()| above.sync().map_err(|e| (above.path().to_path_buf(), e));
    let synced = trial.sync_files().and_then(above_synced);
    synced.map_err(|(path, error)| Fault::io(path.display(), &error, REMEDY))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use machine::own_folder::Reach;

    use super::*;

    #[test]
    fn a_folder_with_whatever_a_server_leaves_there_is_synced() {
        let dir = tempfile::tempdir().unwrap();
        let above = OwnFolder::open(dir.path()).unwrap();
        let trial = above.make_folder("0003", Reach::Passable).unwrap();
        trial.make_folder("database", Reach::Owner).unwrap();
        trial.replace("observation.json", b"{}").unwrap();
        std::os::unix::fs::symlink("/nowhere", trial.path().join("link")).unwrap();
        let _socket = std::os::unix::net::UnixListener::bind(trial.path().join("socket")).unwrap();
        sync_folder(&trial, &above).unwrap();
        fs::remove_dir_all(trial.path()).unwrap();
        sync_folder(&trial, &above).unwrap();
    }
}
