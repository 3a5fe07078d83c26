//! A file for node_exporter's textfile collector.

use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use machine::Fault;
use machine::own_folder::named;

/// node_exporter runs as a user of its own.
const MODE: u32 = 0o644;

/// It is there until this ends: else figures that no longer grow would read as a machine on which nothing happens.
pub(super) struct Textfile(PathBuf);

impl Textfile {
    /// Writes a first page.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn begin(path: &Path, page: &str) -> Result<Self, Fault> {
        let file = Self(path.to_path_buf());
        file.show(page)?;
        Ok(file)
    }

    /// Where it is.
    pub(super) fn path(&self) -> &Path {
        &self.0
    }

    /// Puts a page in the place of the one before: who reads has one or the other, whole.
    ///
    /// # Errors
    /// It cannot be written; then the one before stays.
    pub(super) fn show(&self, page: &str) -> Result<(), Fault> {
        let written = named::replace_with(&self.0, |file| {
            // umask(2) may have taken what others need.
            file.set_permissions(Permissions::from_mode(MODE))?;
            file.write_all(page.as_bytes())
        });
        let remedy = "name a file in the folder of --collector.textfile.directory, to which you may write";
        written.map_err(|e| Fault::io(format!("--textfile {}", self.0.display()), &e, remedy))
    }

    /// Removes it.
    ///
    /// # Errors
    /// It cannot be removed.
    pub(super) fn end(self) -> Result<(), Fault> {
        let remedy = "remove it: its figures are out of date";
        match std::fs::remove_file(&self.0) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => {
                Err(Fault::io(format!("--textfile {}", self.0.display()), &e, remedy))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_replaced_whole_can_be_read_by_others_and_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pinwise.prom");
        let file = Textfile::begin(&path, "a 1\n").unwrap();
        let first = std::fs::File::open(&path).unwrap();
        file.show("a 2\n").unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "a 2\n");
        assert_eq!(io::read_to_string(first).unwrap(), "a 1\n", "who had it open has the one before");
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, MODE);
        file.end().unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }

    #[test]
    fn a_folder_that_is_not_there_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let refused = Textfile::begin(&folder.path().join("none/pinwise.prom"), "").map(drop).unwrap_err();
        assert!(refused.object.contains("none/pinwise.prom"), "{refused}");
    }
}
