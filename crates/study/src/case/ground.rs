//! What was in a folder before a case was made in it, so that a case that never began can be removed without a trace.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// What a case may hold before its first trial is finished.
const NAMES: [&str; 12] = [
    "study.toml",
    "study.toml.part",
    "machine.json",
    "machine",
    "as_found.json",
    "calibration.json",
    "pilot.json",
    "search.jsonl",
    "added.jsonl",
    "trials.jsonl",
    "trials",
    "data",
];

/// A folder as it was.
#[derive(Debug)]
pub(super) struct Ground {
    dir: PathBuf,
    /// It and folders above it that were made for the case, the deepest first.
    made: Vec<PathBuf>,
    /// What lay in it.
    held: BTreeSet<OsString>,
}

impl Ground {
    /// Makes the folder where it does not exist, and those above it.
    pub(super) fn make(dir: &Path) -> io::Result<Self> {
        let above = dir.ancestors().filter(|path| !path.as_os_str().is_empty());
        let made: Vec<PathBuf> = above.take_while(|path| !path.exists()).map(Path::to_path_buf).collect();
        fs::create_dir_all(dir)?;
        Ok(Self { dir: dir.to_path_buf(), made, held: BTreeSet::new() })
    }

    /// Notes what lies in it. Called once the folder is locked: nobody else makes a case in it then.
    pub(super) fn look(&mut self) -> io::Result<()> {
        self.held =
            fs::read_dir(&self.dir)?.map(|entry| entry.map(|e| e.file_name())).collect::<Result<_, _>>()?;
        Ok(())
    }

    /// Removes what a case has put there, and the folders that were made for it and are empty now. What cannot be removed stays.
    pub(super) fn clear(&self) {
        for name in NAMES.iter().filter(|name| !self.held.contains(&OsString::from(name))) {
            let path = self.dir.join(name);
            let _ = match path.symlink_metadata() {
                Ok(there) if there.is_dir() => fs::remove_dir_all(&path),
                Ok(_) => fs::remove_file(&path),
                Err(_) => continue,
            };
        }
        for folder in &self.made {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
    }
}
