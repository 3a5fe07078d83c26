//! Archives that the kernel unpacks into its first file system.

use std::collections::BTreeSet;
use std::io::Write;

use cpio::NewcBuilder;
use cpio::newc::{ModeFileType, trailer};

/// An archive in the form that the kernel unpacks (Documentation/driver-api/early-userspace/buffer-format.rst).
#[derive(Default)]
pub struct Archive {
    bytes: Vec<u8>,
    folders: BTreeSet<String>,
    entries: u32,
}

impl Archive {
    /// Adds a file with the folders above it.
    pub fn file(&mut self, path: &str, mode: u32, content: &[u8]) -> &mut Self {
        self.folders_above(path);
        self.entry(path, ModeFileType::Regular, mode, content)
    }

    /// Adds a folder with those above it.
    pub fn folder(&mut self, path: &str) -> &mut Self {
        self.folders_above(path);
        if self.folders.insert(path.to_string()) {
            self.entry(path, ModeFileType::Directory, 0o755, &[]);
        }
        self
    }

    /// Adds a link to `target`.
    pub fn link(&mut self, path: &str, target: &str) -> &mut Self {
        self.folders_above(path);
        self.entry(path, ModeFileType::Symlink, 0o777, target.as_bytes())
    }

    /// The archive's bytes, with its end mark.
    pub fn finish(self) -> Vec<u8> {
        trailer(self.bytes).unwrap_or_default()
    }

    fn folders_above(&mut self, path: &str) {
        for (at, _) in path.match_indices('/') {
            let above = path[..at].to_string();
            if self.folders.insert(above.clone()) {
                self.entry(&above, ModeFileType::Directory, 0o755, &[]);
            }
        }
    }

    fn entry(&mut self, path: &str, kind: ModeFileType, mode: u32, content: &[u8]) -> &mut Self {
        self.entries += 1;
        let size = u32::try_from(content.len()).unwrap_or(u32::MAX);
        let builder = NewcBuilder::new(path).ino(self.entries).nlink(1).mode(mode).set_mode_file_type(kind);
        let mut writer = builder.write(&mut self.bytes, size);
        // Writing to memory does not fail; a file of 4 GB does not fit the format and is cut off by it.
        let _ = writer.write_all(content).and_then(|()| writer.finish().map(drop));
        self
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// What an archive holds, in its order.
    pub(in crate::userland) fn names(bytes: &[u8]) -> Vec<String> {
        let mut names = Vec::new();
        let mut rest = bytes;
        loop {
            let reader = cpio::NewcReader::new(rest).unwrap();
            if reader.entry().is_trailer() {
                return names;
            }
            names.push(reader.entry().name().to_string());
            rest = reader.finish().unwrap();
        }
    }

    #[test]
    fn folders_stand_before_what_is_in_them_and_once() {
        let mut archive = Archive::default();
        archive.file("a/b/c", 0o644, b"x").file("a/b/d", 0o644, b"").folder("a").link("a/l", "b/c");
        assert_eq!(names(&archive.finish()), ["a", "a/b", "a/b/c", "a/b/d", "a/l"]);
    }
}
