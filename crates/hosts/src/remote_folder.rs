//! Names of files below a folder of another host, and the bounds on what is copied from there.

use std::path::{Component, Path};

/// Most files and folders that are copied.
pub(crate) const MOST_ENTRIES: usize = 100_000;

/// Most bytes that are copied.
pub(crate) const MOST_BYTES: u64 = 4 << 30;

/// Longest piece of a file in one message, bytes: some 50 ms of a slow line, so that clocks are answered in between.
pub(crate) const PIECE_BYTES: u64 = 512 << 10;

/// Most pieces in one message.
pub(crate) const MOST_PIECES: usize = 500;

/// Longest path below a folder, bytes.
const LONGEST_PATH: usize = 1024;

/// Most folders that a path passes through.
const DEEPEST: usize = 32;

/// Whether it names one file or folder, and nothing above or beside it.
pub(crate) fn is_plain_name(name: &str) -> bool {
    !name.contains('/') && is_plain_path(name)
}

/// Whether it leads down only, by names: neither absolute nor through `.` or `..`, and of a length that a path has.
pub(crate) fn is_plain_path(path: &str) -> bool {
    // What has a second slash, a dot or one at its end is written otherwise than it is read.
    let mut names = path.split('/');
    let is_name = |name: &str| !matches!(name, "" | "." | "..") && name.len() <= 255 && !name.contains('\0');
    path.len() <= LONGEST_PATH
        && path.split('/').count() <= DEEPEST
        && names.all(is_name)
        && Path::new(path).components().all(|part| matches!(part, Component::Normal(_)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_paths_that_lead_down_are_plain() {
        for path in ["case", "trials/0001/hosts.json", "a b/é", "..a/b..", "-x"] {
            assert!(is_plain_path(path), "{path}");
        }
        for path in ["", "/", "/etc/passwd", "..", "a/../../b", "a//b", "a/", "./a", "a/.", "a\0b"] {
            assert!(!is_plain_path(path), "{path:?}");
        }
        assert!(!is_plain_path(&"a/".repeat(40)) && !is_plain_path(&"a".repeat(300)));
        assert!(is_plain_name("recipe.toml") && !is_plain_name("a/b") && !is_plain_name(".."));
    }

    proptest::proptest! {
        #[test]
        fn a_plain_path_stays_below_its_folder(path in "(?s)[a./\\PC]{0,12}") {
            if is_plain_path(&path) {
                proptest::prop_assert!(Path::new("/run").join(&path).starts_with("/run"));
                proptest::prop_assert!(!path.split('/').any(|name| name == ".."));
            }
        }
    }
}
