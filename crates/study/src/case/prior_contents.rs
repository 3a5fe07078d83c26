//! What was in a folder before a case was made in it, so that a case that never began can be removed without a trace: by the process that
//! made it, or by a later one where that was killed.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use machine::own_folder::Reach;
use machine::{Fault, OwnFolder};
use serde::{Deserialize, Serialize};

use super::fault::storage;

/// What a case may hold before its first trial is finished.
const NAMES: [&str; 13] = [
    "study.toml",
    "secrets.toml",
    "machine.json",
    "machine",
    "as_found.json",
    "calibration.json",
    "pilot.json",
    "screening.json",
    "search.jsonl",
    "added.jsonl",
    "trials.jsonl",
    "trials",
    "data",
];

/// Marks the folder of a case that holds no result yet.
pub(super) const MARK: &str = ".start.json";

/// What the mark says.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Start {
    /// How many folders were made for the case: its own, and those above it.
    made: usize,
    /// What lay in its folder under one of [`NAMES`].
    held: Vec<String>,
    /// Whether it goes again in any case: its trials are in no comparison.
    preliminary: bool,
}

/// A folder as it was.
#[derive(Debug)]
pub(super) struct Ground {
    folder: OwnFolder,
    /// It and folders above it that were made for the case, the deepest first.
    made: Vec<PathBuf>,
    /// What lay in it under one of [`NAMES`].
    held: Vec<String>,
    /// Whether the case goes again in any case.
    pub(super) is_preliminary: bool,
}

impl Ground {
    /// Makes the folder where it does not exist, and those above it; gives it, too.
    ///
    /// # Errors
    /// It cannot be made, or belongs to somebody else.
    pub(super) fn make(dir: &Path) -> Result<(Self, OwnFolder), Fault> {
        let made: Vec<PathBuf> = from(dir).take_while(|path| !path.exists()).map(Path::to_path_buf).collect();
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
        let again = folder.again().map_err(|e| storage(folder.path(), &e))?;
        Ok((Self { folder: again, made, held: Vec::new(), is_preliminary: false }, folder))
    }

    /// The ground of a case that was begun in this folder, by its mark; `None` where there is no mark that can be understood.
    pub(super) fn of_begun(folder: OwnFolder) -> Option<Self> {
        let start: Start = serde_json::from_slice(&folder.read(MARK).ok()?).ok()?;
        let made = from(folder.path()).take(start.made).map(Path::to_path_buf).collect();
        Some(Self { folder, made, held: start.held, is_preliminary: start.preliminary })
    }

    /// Notes what lies in the folder, and marks it. Called once it is locked: nobody else makes a case in it then.
    pub(super) fn mark(&mut self) -> io::Result<()> {
        let there = self.folder.names()?;
        let held = NAMES.iter().filter(|name| there.iter().any(|there| there == OsStr::new(name)));
        self.held = held.map(|name| name.to_string()).collect();
        let start =
            Start { made: self.made.len(), held: self.held.clone(), preliminary: self.is_preliminary };
        self.folder.remove_all(MARK)?;
        self.folder.create(MARK)?.write_all(&serde_json::to_vec(&start)?)
    }

    /// The case holds a result: it stays from now on.
    pub(super) fn keep(&self) {
        if !self.is_preliminary {
            unmark(&self.folder);
        }
    }

    /// Removes what a case has put there, and the folders that were made for it and are empty then. Where something of somebody else
    /// lies in them (a swap file that is in use, notes of the user) they stay, and so does the mark.
    ///
    /// # Errors
    /// Something of the case cannot be removed.
    pub(super) fn clear(&self) -> io::Result<()> {
        self.folder.sweep();
        for name in NAMES.iter().filter(|name| !self.held.iter().any(|held| held == *name)) {
            self.folder.remove_all(name)?;
        }
        let is_alone = self.folder.names()?.iter().all(|name| name == OsStr::new(MARK));
        if self.made.is_empty() || is_alone {
            unmark(&self.folder);
            // Each only where it is empty.
            let _ = self.made.iter().try_for_each(fs::remove_dir);
        }
        Ok(())
    }
}

/// Takes the mark off.
pub(super) fn unmark(folder: &OwnFolder) {
    let _ = folder.remove(MARK);
}

/// A path and those above it.
fn from(dir: &Path) -> impl Iterator<Item = &Path> {
    dir.ancestors().filter(|path| !path.as_os_str().is_empty())
}
