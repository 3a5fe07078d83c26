//! Which folders below another hold a case. Links are not followed, and within a case nothing is looked for.

use std::fs::DirEntry;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use machine::Fault;

use super::{ITSELF, STUDY};

/// How deep below the folder a case may lie.
const DEEPEST: usize = 4;

/// The most names that are looked at.
const MOST_NAMES: usize = 50_000;

/// A folder that holds a case.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Found {
    pub(super) folder: PathBuf,
    /// Its path below the folder that was searched.
    pub(super) id: String,
    /// When a trial was added last, or the study was made; `None` where that cannot be read.
    pub(super) modified: Option<SystemTime>,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Search {
    /// The cases, those first that were written to last.
    pub(super) found: Vec<Found>,
    /// Cases whose path is no text, so that no address names them.
    pub(super) unnamed: usize,
    /// Whether every folder was looked at.
    pub(super) is_whole: bool,
}

/// The cases below a folder, and in it.
///
/// # Errors
/// The folder itself cannot be read.
pub(super) fn below(dir: &Path) -> Result<Search, Fault> {
    let mut search = Search { is_whole: true, ..Search::default() };
    let mut to_be_read = vec![(dir.to_path_buf(), 0)];
    let mut names_left = MOST_NAMES;
    while let Some((folder, depth)) = to_be_read.pop() {
        if folder.join(STUDY).symlink_metadata().is_ok() {
            search.add(dir, folder);
            continue;
        }
        if depth == DEEPEST {
            continue;
        }
        match std::fs::read_dir(&folder) {
            Ok(entries) => {
                let mut looked_at = 0;
                let entries = entries.flatten().take(names_left).inspect(|_| looked_at += 1);
                to_be_read.extend(entries.filter(is_folder).map(|entry| (entry.path(), depth + 1)));
                names_left -= looked_at;
                search.is_whole &= names_left > 0;
            }
            Err(error) if depth == 0 => {
                return Err(Fault::io(dir.display(), &error, "start pinwise serve with another folder"));
            }
            Err(_) => search.is_whole = false,
        }
    }
    search.found.sort_by(|a, b| b.modified.cmp(&a.modified).then_with(|| a.id.cmp(&b.id)));
    Ok(search)
}

/// Whether it is a folder, and no link to one; those that are hidden are not meant.
fn is_folder(entry: &DirEntry) -> bool {
    entry.file_type().is_ok_and(|kind| kind.is_dir())
        && !entry.file_name().as_encoded_bytes().starts_with(b".")
}

impl Search {
    fn add(&mut self, dir: &Path, folder: PathBuf) {
        let path = folder.strip_prefix(dir).unwrap_or(&folder);
        let id = if path.as_os_str().is_empty() { Some(ITSELF) } else { path.to_str() };
        match id.map(String::from) {
            Some(id) => {
                let modified = modified(&folder);
                self.found.push(Found { folder, id, modified });
            }
            None => self.unnamed += 1,
        }
    }
}

fn modified(folder: &Path) -> Option<SystemTime> {
    let of = |name: &str| folder.join(name).symlink_metadata().and_then(|about| about.modified()).ok();
    of("trials.jsonl").max(of(STUDY))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ids(dir: &Path) -> Vec<String> {
        let mut ids: Vec<String> = below(dir).unwrap().found.into_iter().map(|found| found.id).collect();
        ids.sort();
        ids
    }

    fn case(dir: &Path, id: &str) {
        std::fs::create_dir_all(dir.join(id)).unwrap();
        std::fs::write(dir.join(id).join(STUDY), "").unwrap();
    }

    #[test]
    fn cases_are_found_four_folders_deep_and_not_within_others() {
        let dir = tempfile::tempdir().unwrap();
        for id in ["a", "a/pilot-1", "b/c/d/e", "b/c/d/f/g", ".hidden"] {
            case(dir.path(), id);
        }
        std::fs::create_dir(dir.path().join("empty")).unwrap();
        assert_eq!(ids(dir.path()), ["a", "b/c/d/e"]);
        assert!(below(dir.path()).unwrap().is_whole);
    }

    #[test]
    fn the_folder_itself_may_be_the_case() {
        let dir = tempfile::tempdir().unwrap();
        case(dir.path(), "");
        assert_eq!(ids(dir.path()), [ITSELF]);
    }

    #[test]
    fn links_are_not_followed() {
        let [dir, elsewhere] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
        case(elsewhere.path(), "theirs");
        std::os::unix::fs::symlink(elsewhere.path(), dir.path().join("link")).unwrap();
        std::os::unix::fs::symlink(".", dir.path().join("circle")).unwrap();
        assert!(ids(dir.path()).is_empty());
    }

    #[test]
    fn a_name_that_is_no_text_is_counted_and_not_shown() {
        use std::os::unix::ffi::OsStrExt as _;
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().join(std::ffi::OsStr::from_bytes(b"\xff"));
        std::fs::create_dir(&folder).unwrap();
        std::fs::write(folder.join(STUDY), "").unwrap();
        let search = below(dir.path()).unwrap();
        assert_eq!((search.unnamed, search.found), (1, Vec::new()));
    }

    #[test]
    fn a_folder_that_cannot_be_read_is_named() {
        let fault = below(Path::new("/nosuch/folder")).unwrap_err();
        assert_eq!(fault.object, "/nosuch/folder");
    }
}
