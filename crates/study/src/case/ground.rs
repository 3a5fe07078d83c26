//! What was in a folder before a case was made in it, so that a case that never began can be removed without a trace.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use machine::own_folder::Reach;
use machine::{Fault, OwnFolder};

/// What a case may hold before its first trial is finished.
const NAMES: [&str; 12] = [
    "study.toml",
    "secrets.toml",
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
    folder: OwnFolder,
    /// It and folders above it that were made for the case, the deepest first.
    made: Vec<PathBuf>,
    /// What lay in it.
    held: BTreeSet<OsString>,
}

impl Ground {
    /// Makes the folder where it does not exist, and those above it; gives it, too.
    ///
    /// # Errors
    /// It cannot be made, or belongs to somebody else.
    pub(super) fn make(dir: &Path) -> Result<(Self, OwnFolder), Fault> {
        let above = dir.ancestors().filter(|path| !path.as_os_str().is_empty());
        let made: Vec<PathBuf> = above.take_while(|path| !path.exists()).map(Path::to_path_buf).collect();
        Self::of(OwnFolder::make(dir, Reach::Passable)?, made)
    }

    /// The same of a folder in a folder in another one.
    ///
    /// # Errors
    /// As [`make`](Self::make).
    pub(super) fn make_in(outer: &OwnFolder, [above, name]: [&str; 2]) -> Result<(Self, OwnFolder), Fault> {
        let mut made = Vec::new();
        if !outer.holds(above) {
            made.push(outer.path().join(above));
        }
        let above = outer.make_folder(above, Reach::Passable)?;
        if !above.holds(name) {
            made.insert(0, above.path().join(name));
        }
        Self::of(above.make_folder(name, Reach::Passable)?, made)
    }

    fn of(folder: OwnFolder, made: Vec<PathBuf>) -> Result<(Self, OwnFolder), Fault> {
        let again = folder.again().map_err(|e| super::storage(folder.path(), &e))?;
        Ok((Self { folder: again, made, held: BTreeSet::new() }, folder))
    }

    /// Notes what lies in it. Called once the folder is locked: nobody else makes a case in it then.
    pub(super) fn look(&mut self) -> io::Result<()> {
        self.held = self.folder.names()?.into_iter().collect();
        Ok(())
    }

    /// Removes what a case has put there, and the folders that were made for it and are empty now. What cannot be removed stays.
    pub(super) fn clear(&self) {
        for name in NAMES.iter().filter(|name| !self.held.contains(&OsString::from(name))) {
            let _ = self.folder.remove_all(name);
        }
        for folder in &self.made {
            if fs::remove_dir(folder).is_err() {
                break;
            }
        }
    }
}
