//! The swap areas of a study: each is made once, before the first trial that wants it, and is there until the study is over.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use change::Hand;
use load::ServerSpec;
use machine::Fault;

/// Areas by their folder and size.
#[derive(Debug, Default)]
pub struct Areas {
    made: BTreeMap<(PathBuf, u64), PathBuf>,
}

impl Areas {
    /// The file of the area that this server may swap to; none where it asks for none. `case` is the folder that takes it unless the
    /// recipe names another.
    ///
    /// # Errors
    /// No permission, no room, or no such folder.
    pub fn of(
        &mut self,
        server: &ServerSpec,
        case: &Path,
        hand: &mut Hand,
    ) -> Result<Option<PathBuf>, Fault> {
        let Some(mb) = server.swap_mb.filter(|mb| *mb > 0) else { return Ok(None) };
        let folder = server.swap_dir.as_deref().unwrap_or(case);
        let key = (folder.to_path_buf(), mb);
        if let Some(made) = self.made.get(&key) {
            return Ok(Some(made.clone()));
        }
        let path = hand.make_swap_file(folder, mb << 20)?;
        self.made.insert(key, path.clone());
        Ok(Some(path))
    }
}
