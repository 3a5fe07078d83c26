//! What a root reads through: one trait for the running system, directories, trees in memory, and captures.

use std::fs::File;

use super::{ReadError, paths};

/// What stands behind a [`Root`](super::Root). Paths are absolute, without `.`, `..` and doubled slashes (see [`paths`]).
pub(crate) trait Source: Send + Sync {
    /// The whole content of a file.
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError>;
    /// Hands over the lines of a file, without their ends. Where the source can, it holds one line at a time.
    fn each_line(&self, path: &str, take: &mut dyn FnMut(&[u8])) -> Result<(), ReadError> {
        let content = self.read(path)?;
        let content = content.strip_suffix(b"\n").unwrap_or(&content);
        if !content.is_empty() {
            content.split(|byte| *byte == b'\n').for_each(take);
        }
        Ok(())
    }
    /// Names in a directory, in any order.
    fn list(&self, path: &str) -> Result<Vec<String>, ReadError>;
    /// The target of a symbolic link, as it is written there.
    fn link(&self, path: &str) -> Result<String, ReadError>;
    /// Whether the path leads to anything, links followed.
    fn exists(&self, path: &str) -> bool;
    /// The path with every link followed.
    fn resolve(&self, path: &str) -> Result<String, ReadError> {
        paths::resolve(path, |prefix| self.link(prefix).ok(), |whole| self.exists(whole))
    }
    /// A fact that is no file, one of [`FACTS`](super::FACTS).
    fn fact(&self, name: &str) -> Result<String, ReadError>;
    /// An open file to read again and again; `None` where files are not kept by the kernel (an archive in memory).
    fn open(&self, _path: &str) -> Result<Option<File>, ReadError> {
        Ok(None)
    }
    /// Keeps folders that are listed open, for what is read below them, until [`Source::let_folders_go`].
    fn keep_folders(&self) {}
    /// Ends [`Source::keep_folders`].
    fn let_folders_go(&self) {}
    /// Whether it is the running system.
    fn is_live(&self) -> bool {
        false
    }
}

/// The one folder at the top of a tree that has nothing else there, unless it is part of a machine itself.
pub(super) fn single_folder(source: &impl Source) -> Option<String> {
    let mut names = source.list("/").ok()?;
    let name = names.pop()?;
    let of_a_machine = matches!(name.as_str(), "sys" | "proc" | "boot" | "etc" | "run" | "dev");
    let place = format!("/{name}");
    let folder =
        names.is_empty() && !of_a_machine && source.link(&place).is_err() && source.list(&place).is_ok();
    folder.then_some(name)
}
