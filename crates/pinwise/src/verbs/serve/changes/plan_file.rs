//! The file that `pinwise apply` reads a plan from: in a folder that nobody else may enter, and gone when the verb has ended.

use std::io::{self, Write as _};
use std::path::Path;

use change::ledger::state_dir;
use machine::own_folder::{OwnFolder, Reach};
use machine::{Class, Fault};

/// The folder, in that of pinwise's state.
const FOLDER: &str = "serve";

const REMEDY: &str = "free space, or set PINWISE_STATE_DIR to a folder on a disk that you may write to";

/// The file; it is removed when this is dropped.
#[derive(Debug)]
pub(super) struct PlanFile {
    folder: OwnFolder,
    name: String,
}

impl PlanFile {
    /// Writes the text of the plan of this id.
    ///
    /// # Errors
    /// The folder belongs to another user or cannot be made; the file cannot be written.
    pub(super) fn write(id: &str, text: &str) -> Result<Self, Fault> {
        Self::write_in(&state_dir()?.join(FOLDER), id, text)
    }

    fn write_in(folder: &Path, id: &str, text: &str) -> Result<Self, Fault> {
        let (folder, name) = (OwnFolder::make(folder, Reach::Owner)?, format!("plan-{id}.toml"));
        let path = folder.path().join(&name);
        let fault = |error: io::Error| Fault::io(path.display(), &error, REMEDY);
        let mut to = folder.create(&name).map_err(fault)?;
        let file = Self { folder, name };
        to.write_all(text.as_bytes()).map_err(fault)?;
        Ok(file)
    }

    /// Its path, as an argument.
    ///
    /// # Errors
    /// It is not UTF-8.
    pub(super) fn path(&self) -> Result<String, Fault> {
        let path = self.folder.path().join(&self.name);
        let cause = "the path is not UTF-8";
        path.into_os_string()
            .into_string()
            .map_err(|path| Fault::new(Class::Storage, path.display(), cause, REMEDY))
    }
}

impl Drop for PlanFile {
    fn drop(&mut self) {
        let _ = self.folder.remove(&self.name);
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt as _, symlink};

    use super::*;

    #[test]
    fn it_is_nobody_elses_to_read_and_goes_when_it_has_been_read() {
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join(FOLDER);
        let file = PlanFile::write_in(&folder, "7", "[[setting]]\n").unwrap();
        let path = file.path().unwrap();
        let mode = |path: &Path| std::fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder), mode(Path::new(&path))), (0o700, 0o600));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "[[setting]]\n");
        drop(file);
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
    }

    #[test]
    fn what_is_there_already_is_neither_written_to_nor_removed() {
        let above = tempfile::tempdir().unwrap();
        let (folder, precious) = (above.path().join(FOLDER), above.path().join("precious"));
        std::fs::write(&precious, "precious").unwrap();
        drop(OwnFolder::make(&folder, Reach::Owner).unwrap());
        symlink(&precious, folder.join("plan-7.toml")).unwrap();
        let fault = PlanFile::write_in(&folder, "7", "[[setting]]\n").unwrap_err();
        assert!(fault.object.ends_with("plan-7.toml"), "{fault}");
        assert!(folder.join("plan-7.toml").is_symlink());
        assert_eq!(std::fs::read_to_string(&precious).unwrap(), "precious");
    }
}
