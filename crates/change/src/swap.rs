//! Swap files that a session makes, and removes again with its undo.

use std::fs;
use std::path::{Path, PathBuf};

use machine::{Act, Fault};

use crate::hand::Hand;
use crate::kernel::swap::file_name;

impl Hand {
    /// Makes a swap area of so many bytes in `folder`, which is not in use yet; gives its file.
    ///
    /// Errors: nothing of it is left then - no permission to use it, no room, a folder that is not there.
    pub fn make_swap_file(&mut self, folder: &Path, bytes: u64) -> Result<PathBuf, Fault> {
        let folder = fs::canonicalize(folder)
            .map_err(|e| Fault::io(folder.display(), &e, "name a folder that is there (server.swap_dir)"))?;
        let path = folder.join(file_name(self.session(), self.next_seq()));
        self.perform(&Act::MakeSwapFile { path: path.clone(), bytes })?;
        Ok(path)
    }
}
