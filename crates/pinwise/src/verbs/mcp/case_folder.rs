//! The folder in which an assistant may read cases. What it names is looked up below that folder, and nowhere else: no `..`, no link.

use std::fs::DirEntry;
use std::path::{Path, PathBuf};

use machine::{Class, Fault};
use serde::Serialize;

use super::arguments;
use super::listed_case::Listed;
use crate::case_size;

/// By this file a folder is a case.
const STUDY: &str = "study.toml";

/// What a server put into a case; it is not read.
const DATA: &str = "data";

/// Cases lie at most so deep below the folder.
const MOST_DEPTH: usize = 4;

/// Entries of folders that are looked at for one answer.
const MOST_ENTRIES: usize = 100_000;

/// Cases that are listed.
const MOST_CASES: usize = 200;

/// Cases of which the newest are listed.
const MOST_READ: usize = 2_000;

/// The folder.
#[derive(Debug, Clone)]
pub struct CaseFolder {
    path: PathBuf,
}

/// The cases of a folder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Cases {
    /// The newest first.
    pub cases: Vec<Listed>,
    /// Whether there are more, or folders that were not looked at.
    pub has_more: bool,
}

impl CaseFolder {
    /// The folder at `dir`, which may itself be a case.
    ///
    /// # Errors
    /// There is no such folder, or it may not be read.
    pub fn open(dir: &Path) -> Result<Self, Fault> {
        let remedy = "name the folder of the cases";
        let path = dir.canonicalize().map_err(|error| Fault::io(dir.display(), &error, remedy))?;
        std::fs::read_dir(&path).map_err(|error| Fault::io(dir.display(), &error, remedy))?;
        Ok(Self { path })
    }

    /// The cases in it. Folders that may not be read are passed over.
    pub fn list(&self) -> Cases {
        let mut found = Vec::new();
        let mut has_more = false;
        let mut looked_at = 0;
        let mut waiting: Vec<(PathBuf, Vec<String>)> = vec![(self.path.clone(), Vec::new())];
        while let Some((folder, way)) = waiting.pop() {
            if looked_at >= MOST_ENTRIES || found.len() >= MOST_READ {
                has_more = true;
                break;
            }
            if is_case(&folder) {
                found.push(Listed::of(&folder.join(STUDY), &way));
            } else if way.len() < MOST_DEPTH {
                let below = entries(&folder).take(MOST_ENTRIES - looked_at).inspect(|_| looked_at += 1);
                let named = below.filter_map(|entry| Some((entry.path(), folder_name(&entry)?)));
                waiting.extend(named.map(|(path, name)| (path, [way.clone(), vec![name]].concat())));
            }
        }
        found.sort_by(|a, b| b.made_unix_s.cmp(&a.made_unix_s).then_with(|| a.id.cmp(&b.id)));
        has_more |= found.len() > MOST_CASES;
        found.truncate(MOST_CASES);
        Cases { cases: found, has_more }
    }

    /// The folder of the case with this id, an absolute path.
    ///
    /// # Errors
    /// It is no id; there is no such case below the folder; a link is on the way or in it, which could lead elsewhere; it is too large.
    pub fn find(&self, id: &str) -> Result<PathBuf, Fault> {
        let refused = |cause: &str| {
            Fault::new(Class::Usage, format!("case {}", shown(id)), cause, "see the tool 'cases'")
        };
        let mut path = self.path.clone();
        if id != "." {
            for part in id.split('/') {
                if !is_plain(part) {
                    return Err(refused("it is not the id of a case"));
                }
                path.push(part);
                if !path.symlink_metadata().is_ok_and(|there| there.is_dir()) {
                    return Err(refused("there is no such folder"));
                }
            }
        }
        if !is_case(&path) {
            return Err(refused("that folder has no case"));
        }
        if has_links(&path) {
            return Err(refused("there is a link in it, or more files than are looked at"));
        }
        match case_size::fits(&path) {
            Ok(()) => Ok(path),
            Err(fault) => Err(refused(&format!("{}: 'pinwise report' in a shell reads it", fault.cause))),
        }
    }
}

/// A part of an id.
fn is_plain(part: &str) -> bool {
    !matches!(part, "." | "..") && !part.contains('/') && arguments::name("case", part).is_ok()
}

/// So much of an id that a message stays short.
fn shown(id: &str) -> String {
    id.chars().take(80).collect()
}

fn is_case(folder: &Path) -> bool {
    folder.join(STUDY).symlink_metadata().is_ok_and(|there| there.is_file())
}

fn entries(folder: &Path) -> impl Iterator<Item = DirEntry> {
    std::fs::read_dir(folder).into_iter().flatten().flatten()
}

/// The name of a folder that can be part of an id; `None` for files and links.
fn folder_name(entry: &DirEntry) -> Option<String> {
    let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
    entry.file_name().into_string().ok().filter(|name| is_folder && is_plain(name))
}

/// Whether there is a link in a case, but for what its server wrote; yes where there is more than can be looked at.
fn has_links(case: &Path) -> bool {
    let mut looked_at = 0;
    let mut waiting = vec![case.to_path_buf()];
    while let Some(folder) = waiting.pop() {
        for entry in entries(&folder) {
            looked_at += 1;
            let Ok(kind) = entry.file_type() else { return true };
            if kind.is_symlink() || looked_at > MOST_ENTRIES {
                return true;
            }
            if kind.is_dir() && entry.file_name() != DATA {
                waiting.push(entry.path());
            }
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn folder() -> (tempfile::TempDir, CaseFolder) {
        let place = tempfile::tempdir().unwrap();
        for (id, made) in [("old", 1), ("of/web7/new", 2)] {
            let case = place.path().join("cases").join(id);
            std::fs::create_dir_all(case.join("trials")).unwrap();
            let study =
                format!("made_unix_s = {made}\n[recipe]\nname = \"{made}\"\nmetric = \"requests_per_s\"\n");
            std::fs::write(case.join(STUDY), study).unwrap();
        }
        std::fs::create_dir_all(place.path().join("elsewhere")).unwrap();
        std::fs::write(place.path().join("elsewhere").join(STUDY), "").unwrap();
        let folder = CaseFolder::open(&place.path().join("cases")).unwrap();
        (place, folder)
    }

    #[test]
    fn cases_are_listed_the_newest_first() {
        let (_place, folder) = folder();
        let Cases { cases, has_more } = folder.list();
        let ids: Vec<&str> = cases.iter().map(|case| case.id.as_str()).collect();
        assert_eq!((ids, has_more), (vec!["of/web7/new", "old"], false));
        assert_eq!(cases[0].metric.as_deref(), Some("requests_per_s"));
        assert!(cases.iter().all(|case| folder.find(&case.id).is_ok()));
    }

    #[test]
    fn a_folder_that_is_a_case_is_listed_as_itself() {
        let (place, _) = folder();
        let folder = CaseFolder::open(&place.path().join("cases/old")).unwrap();
        assert_eq!(folder.list().cases[0].id, ".");
        assert!(folder.find(".").unwrap().ends_with("cases/old"));
    }

    #[test]
    fn no_id_leads_out_of_the_folder() {
        let (place, folder) = folder();
        symlink(place.path().join("elsewhere"), place.path().join("cases/link")).unwrap();
        let absolute = place.path().join("elsewhere").display().to_string();
        let hostile = [
            "",
            ".",
            "..",
            "../elsewhere",
            "old/..",
            "old/../../elsewhere",
            "./old",
            "old/",
            "/",
            "//old",
            "link",
            "link/",
            "-old",
            "of",
            "of/web7",
            "old/trials",
            "none",
            "old\0",
            "old\n",
            "of//web7/new",
            "~",
            "$HOME",
            &absolute,
        ];
        for id in hostile {
            assert_eq!(folder.find(id).unwrap_err().class, Class::Usage, "{id:?}");
        }
        assert!(folder.list().cases.iter().all(|case| !case.id.contains("link")));
    }

    #[test]
    fn no_id_of_hostile_parts_is_found() {
        let (place, folder) = folder();
        let parts = ["", ".", "..", "old", "-", "\u{202e}", "a b", "of", "elsewhere"];
        for first in parts {
            for second in parts {
                let id = format!("{first}/{second}");
                assert!(folder.find(&id).is_err(), "{id:?}");
            }
        }
        drop(place);
    }

    #[test]
    fn a_case_with_a_link_in_it_is_refused() {
        let (place, folder) = folder();
        let case = place.path().join("cases/old");
        std::fs::create_dir_all(case.join("data")).unwrap();
        symlink("/etc/passwd", case.join("data/of-its-server")).unwrap();
        assert!(folder.find("old").is_ok());
        symlink("/etc/passwd", case.join("trials/0001")).unwrap();
        assert!(folder.find("old").unwrap_err().cause.contains("link"));
    }

    #[test]
    fn a_case_that_would_fill_the_memory_is_refused() {
        let (place, folder) = folder();
        let trials = std::fs::File::create(place.path().join("cases/old/trials.jsonl")).unwrap();
        trials.set_len(1 << 40).unwrap();
        assert!(folder.find("old").unwrap_err().cause.contains("256 MiB"));
        trials.set_len(0).unwrap();
        let report = std::fs::File::create(place.path().join("cases/old/report.html")).unwrap();
        report.set_len(1 << 40).unwrap();
        assert!(folder.find("old").is_ok(), "no verb reads that");
    }

    #[test]
    fn a_folder_that_is_not_there_is_a_fault() {
        assert!(CaseFolder::open(Path::new("/nosuch/cases")).is_err());
    }
}
