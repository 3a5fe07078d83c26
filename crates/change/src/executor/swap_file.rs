//! Swap files that a session makes, and removes again with its undo.

use std::fs;
use std::path::{Path, PathBuf};

use machine::{Act, Fault};

use super::Hand;
use crate::kernel::swap::file_name;

impl Hand {
    /// Makes a swap file of so many bytes in `folder` and returns its path. The kernel does not use it yet.
    ///
    /// # Errors
    /// No permission to use it; no space; no such folder. Nothing is left behind then.
    pub fn make_swap_file(&mut self, folder: &Path, bytes: u64) -> Result<PathBuf, Fault> {
        let folder = fs::canonicalize(folder)
            .map_err(|e| Fault::io(folder.display(), &e, "name a folder that exists (server.swap_dir)"))?;
        let path = folder.join(file_name(self.session(), self.next_seq()));
        self.perform(&Act::MakeSwapFile { path: path.clone(), bytes })?;
        Ok(path)
    }
}
