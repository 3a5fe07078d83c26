//! `observed.jsonl` and `observed/`: the trials of observed blocks, which are in no comparison.

use std::path::PathBuf;

use machine::own_folder::Reach;
use machine::{Fault, OwnFolder};

use super::{Case, OBSERVED, OBSERVED_FOLDER};
use crate::trial::Trial;

impl Case {
    /// The folder of observed trial `index`.
    pub fn observed_dir(&self, index: usize) -> PathBuf {
        self.dir.join(OBSERVED_FOLDER).join(format!("{index:04}"))
    }

    /// The folder of all observed trials' folders; it is made where it does not exist.
    ///
    /// # Errors
    /// As [`trials_folder`](Self::trials_folder).
    pub fn observed_folder(&self) -> Result<OwnFolder, Fault> {
        self.folder()?.make_folder(OBSERVED_FOLDER, Reach::Passable)
    }

    /// Appends a finished observed trial and returns when it is on disk.
    pub fn append_observed(&mut self, trial: Trial) -> Result<(), Fault> {
        self.append_line(OBSERVED, &trial)?;
        self.observed.push(trial);
        Ok(())
    }
}
