//! Reads of the small forms that sysfs and procfs use: one line, one number, a CPU list, a CPU mask.

use std::fmt::Display;
use std::path::Path;
use std::str::FromStr;

use serde::de::DeserializeOwned;

use super::{ReadError, Root};
use crate::CpuSet;

impl Root {
    /// The value in a file of one, without blanks, line ends and NULs around it. One that is no UTF-8 is `Malformed`.
    pub fn line(&self, path: impl AsRef<Path>) -> Result<String, ReadError> {
        // Some kernels print a NUL before the line end where they mean an empty set.
        Ok(self.read_exact(path)?.trim_matches(|c: char| c.is_whitespace() || c == '\0').to_string())
    }

    /// A file that holds one number.
    pub fn number<T: FromStr>(&self, path: impl AsRef<Path>) -> Result<T, ReadError>
    where
        T::Err: Display,
    {
        let text = self.line(path.as_ref())?;
        number(path, &text)
    }

    /// The same of a file that says `max` where there is no limit: `None` then, and where there is no such file.
    pub(crate) fn number_or_max(&self, path: impl AsRef<Path>) -> Result<Option<u64>, ReadError> {
        match self.line(path.as_ref()) {
            Err(e) if e.is_absent() => Ok(None),
            Ok(text) if text == "max" => Ok(None),
            Ok(text) => number(path, &text).map(Some),
            Err(e) => Err(e),
        }
    }

    /// Ticks a second in which procfs counts times (USER_HZ), from the fact `clock_ticks`. `None` where the root does not know it.
    pub fn ticks_per_s(&self) -> Option<u64> {
        self.fact("clock_ticks").ok()?.parse::<u64>().ok().filter(|ticks| *ticks > 0)
    }

    /// A [`fact`](Root::fact) that is JSON.
    pub(crate) fn json_fact<T: DeserializeOwned>(&self, name: &str) -> Result<T, ReadError> {
        serde_json::from_str(&self.fact(name)?).map_err(|e| ReadError::malformed(name, e))
    }

    /// A file that holds a list of CPUs or nodes (`0-3,8`).
    pub fn cpu_list(&self, path: impl AsRef<Path>) -> Result<CpuSet, ReadError> {
        let text = self.line(path.as_ref())?;
        CpuSet::from_list(&text).map_err(|e| ReadError::malformed(path, e))
    }

    /// A file that holds a mask of CPUs (`ff,00000001`).
    pub fn cpu_mask(&self, path: impl AsRef<Path>) -> Result<CpuSet, ReadError> {
        let text = self.read_exact(path.as_ref())?;
        CpuSet::from_mask(&text).map_err(|e| ReadError::malformed(path, e))
    }

    /// A set that new kernels print as a list and old ones (before 2.6.25 or so) only as a mask: the first of `lists`
    /// that is there, else the first of `masks`; paths relative to `dir`. The error is that of the first list.
    pub fn cpu_set(&self, dir: &str, lists: &[&str], masks: &[&str]) -> Result<CpuSet, ReadError> {
        let mut first = None;
        let lists = lists.iter().map(|name| self.cpu_list(format!("{dir}/{name}")));
        // Built lazily: a file that is not needed is not read and so not captured.
        let masks = masks.iter().map(|name| self.cpu_mask(format!("{dir}/{name}")));
        for answer in lists.chain(masks) {
            match answer {
                Err(e) if e.is_absent() => drop(first.get_or_insert(e)),
                other => return other,
            }
        }
        Err(first.unwrap_or_else(|| ReadError::absent(dir, "no file was asked for")))
    }
}

/// The number that a file has as its text.
fn number<T: FromStr>(path: impl AsRef<Path>, text: &str) -> Result<T, ReadError>
where
    T::Err: Display,
{
    text.parse().map_err(|e| ReadError::malformed(path, format!("'{}': {e}", quoted(text))))
}

/// The start of a text, short enough for a message.
fn quoted(text: &str) -> String {
    text.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cause, Tree};

    #[test]
    fn numbers_lists_and_masks_and_their_malformed_twins() {
        let tree = Tree::new()
            .file("/n", "-1\n")
            .file("/bad", "x\n")
            .file("/list", "0-1,4\n\0\0\0")
            .file("/nul", "\0\n")
            .file("/mask", "13\n")
            .file("/empty", "\n");
        let root = Root::from_tree(tree);
        assert_eq!(root.number::<i32>("/n").unwrap(), -1);
        assert!(root.number::<u32>("/n").is_err());
        let bad = root.number::<u32>("/bad").unwrap_err();
        assert_eq!(bad.kind, Cause::Malformed);
        assert!(bad.to_string().starts_with("/bad: 'x'"), "{bad}");
        assert_eq!(root.cpu_list("/list").unwrap().to_list(), "0-1,4");
        assert_eq!(root.cpu_mask("/mask").unwrap().to_list(), "0-1,4");
        assert!(root.cpu_list("/empty").unwrap().is_empty());
        assert!(root.cpu_list("/nul").unwrap().is_empty());
        assert_eq!(root.cpu_mask("/empty").unwrap_err().kind, Cause::Malformed);
        assert_eq!(root.cpu_list("/bad").unwrap_err().kind, Cause::Malformed);
    }

    #[test]
    fn an_odd_byte_makes_one_value_malformed_and_is_replaced_in_a_text_of_rows() {
        let root = Root::from_tree(Tree::new().file("/x", b"4 \xff\n5\n\0".as_slice()));
        assert_eq!(root.read("/x").unwrap(), "4 \u{fffd}\n5\n");
        for refused in [
            root.read_exact("/x").map(drop),
            root.line("/x").map(drop),
            root.number::<u32>("/x").map(drop),
            root.cpu_list("/x").map(drop),
            root.cpu_mask("/x").map(drop),
        ] {
            assert_eq!(refused.unwrap_err().kind, Cause::Malformed);
        }
    }

    #[test]
    fn a_mask_is_taken_only_where_there_is_no_list() {
        let root = Root::from_tree(Tree::new().file("/d/mask", "3").file("/d/bad", "?").denied("/d/denied"));
        assert_eq!(root.cpu_set("/d", &["list"], &["mask"]).unwrap().to_list(), "0-1");
        assert_eq!(root.cpu_set("/d", &["bad"], &["mask"]).unwrap_err().kind, Cause::Malformed);
        assert_eq!(root.cpu_set("/d", &["denied"], &["mask"]).unwrap_err().kind, Cause::Denied);
        let none = root.cpu_set("/d", &["list"], &["other"]).unwrap_err();
        assert_eq!(none.path, Path::new("/d/list"));
    }
}
