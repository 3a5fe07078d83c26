//! Captures of hosts in files and folders that the user names.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::FileType;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use hosts::survey::in_parallel;
use machine::{Class, Fault};
use report::fleet::NotRead;

use super::gathered::Gathered;
use crate::verbs::compare::machine_at;

/// How the names of archives end that are looked for in folders: those that [`machine::Root::at`] reads.
const ENDINGS: [&str; 7] = [".tar.zst", ".tzst", ".tar.gz", ".tgz", ".tar.bz2", ".tbz2", ".tar"];

/// What a folder has that is a capture, or the tree of a machine.
const PARTS: [&str; 3] = ["pinwise-capture.json", "sys", "proc"];

/// Most captures: a folder may hold any number of files.
const MOST_CAPTURES: usize = 100_000;

/// A capture, not read yet.
#[derive(Debug)]
pub(super) struct Capture {
    /// The name of its host.
    pub(super) host: String,
    path: PathBuf,
}

/// What was found.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) captures: Vec<Capture>,
    /// What could be captures and is not taken for ones.
    pub(super) not_read: Vec<NotRead>,
    /// How many other files and folders there are in the folders.
    pub(super) passed_over: usize,
}

/// Finds the captures that are named, and those in the folders that are. A host has the name of its capture without the ending; where
/// several would have the same name, each has its path.
///
/// # Errors
/// What is named is not there; a folder cannot be read or has too many captures; there is none.
pub(super) fn find(named: &[PathBuf]) -> Result<Found, Fault> {
    let mut found = Found::default();
    let mut paths = BTreeSet::new();
    for path in named {
        let about = std::fs::metadata(path).map_err(|e| Fault::io(path.display(), &e, "check the path"))?;
        match about.is_dir() && !is_tree(path) {
            true => look_into(path, &mut paths, &mut found)?,
            false => drop(paths.insert(path.clone())),
        }
    }
    if paths.is_empty() && found.not_read.is_empty() {
        let remedy = "name archives of 'pinwise capture' (NAME.tar.zst), or folders of them";
        return Err(Fault::new(Class::Usage, "--from", "there is no capture", remedy));
    }
    name_hosts(paths, &mut found);
    Ok(found)
}

/// Adds what is in a folder of captures.
fn look_into(folder: &Path, paths: &mut BTreeSet<PathBuf>, found: &mut Found) -> Result<(), Fault> {
    let unreadable = |e| Fault::io(folder.display(), &e, "name a folder that you may read");
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let entry = entry.map_err(unreadable)?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(unreadable)?);
        match is_capture(&path, kind) {
            false => found.passed_over += 1,
            // It could lead anywhere, and someone else may have put it there.
            true if kind.is_symlink() => found.not_read.push(link(&path)),
            true => drop(paths.insert(path)),
        }
        if paths.len() + found.not_read.len() > MOST_CAPTURES {
            let cause = format!("there are more than {MOST_CAPTURES} captures");
            return Err(Fault::new(Class::Usage, folder.display(), cause, "compare fewer hosts at once"));
        }
    }
    Ok(())
}

/// Whether an entry of a folder is a capture by its looks.
fn is_capture(path: &Path, kind: FileType) -> bool {
    if kind.is_dir() { is_tree(path) } else { ending(&file_name(path)).is_some() }
}

fn is_tree(folder: &Path) -> bool {
    PARTS.iter().any(|part| folder.join(part).exists())
}

fn link(path: &Path) -> NotRead {
    let cause = "it is a symbolic link, which is not followed in a folder";
    let fault = Fault::new(Class::NotPermitted, path.display(), cause, "name it directly with --from");
    NotRead { host: stem(path), fault }
}

/// Gives each capture the name of its host, once.
fn name_hosts(paths: BTreeSet<PathBuf>, found: &mut Found) {
    let mut times: BTreeMap<String, usize> = BTreeMap::new();
    for path in &paths {
        *times.entry(stem(path)).or_default() += 1;
    }
    let mut given = BTreeSet::new();
    for path in paths {
        let short = stem(&path);
        let host = if times.get(&short) == Some(&1) { short } else { path.display().to_string() };
        if given.insert(host.clone()) {
            found.captures.push(Capture { host, path });
        } else {
            // Two names that differ in what is no UTF-8 alone.
            let cause = "another capture has the same name";
            let fault = Fault::new(Class::Usage, path.display(), cause, "rename one of them");
            found.not_read.push(NotRead { host, fault });
        }
    }
}

/// The name of a file or folder; all of the path where it has none (`..`).
fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// The ending by which a name is that of an archive.
fn ending(name: &str) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    ENDINGS.into_iter().find(|ending| name.ends_with(ending))
}

/// The name without the ending of an archive, unless nothing would be left.
fn stem(path: &Path) -> String {
    let mut name = file_name(path);
    if let Some(ending) = ending(&name).filter(|ending| ending.len() < name.len() && !path.is_dir()) {
        name.truncate(name.len() - ending.len());
    }
    name
}

/// Reads all captures, `at_most` at the same time. One that is damaged is listed, and stops no other.
///
/// # Errors
/// A signal stopped it.
pub(super) fn read_all(
    captures: &[Capture],
    at_most: usize,
    interrupted: &AtomicBool,
    gathered: &Gathered,
) -> Result<(), Fault> {
    let read = |capture: &Capture| gathered.take(&capture.host, machine_at(&capture.path));
    in_parallel(captures, at_most, interrupted, "fleet map", &read)
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;
    use std::os::unix::fs::symlink;

    use super::*;

    fn hosts(found: &Found) -> Vec<&str> {
        found.captures.iter().map(|capture| capture.host.as_str()).collect()
    }

    #[test]
    fn archives_and_trees_of_a_folder_are_hosts_and_the_rest_is_counted() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for file in ["web1.tar.zst", "web2.TGZ", ".tar", "README.md"] {
            std::fs::write(at(file), "").unwrap();
        }
        std::fs::create_dir_all(at("web3.tar/sys")).unwrap();
        std::fs::create_dir(at("empty")).unwrap();
        symlink("/", at("all.tar")).unwrap();
        let found = find(&[folder.path().to_path_buf()]).unwrap();
        assert_eq!(hosts(&found), [".tar", "web1", "web2", "web3.tar"]);
        assert_eq!((found.passed_over, found.not_read.len()), (2, 1));
        assert!(found.not_read[0].fault.to_string().contains("all.tar"));
    }

    #[test]
    fn hosts_that_would_have_the_same_name_have_their_paths() {
        let folder = tempfile::tempdir().unwrap();
        let [a, b] = ["a", "b"].map(|name| folder.path().join(name));
        for (folder, name) in [(&a, "web1.tar.zst"), (&b, "web1.tar.zst"), (&b, "web2.tar")] {
            std::fs::create_dir_all(folder).unwrap();
            std::fs::write(folder.join(name), "").unwrap();
        }
        let path = |folder: &Path| folder.join("web1.tar.zst").display().to_string();
        let found = find(&[a.clone(), b.clone(), a.clone()]).unwrap();
        assert_eq!(hosts(&found), [path(&a).as_str(), path(&b).as_str(), "web2"]);
    }

    #[test]
    fn names_that_differ_in_bytes_that_cannot_be_shown_are_not_one_host() {
        let folder = tempfile::tempdir().unwrap();
        for name in [b"w\xfe.tar".as_slice(), b"w\xff.tar"] {
            std::fs::write(folder.path().join(std::ffi::OsStr::from_bytes(name)), "").unwrap();
        }
        let found = find(&[folder.path().to_path_buf()]).unwrap();
        assert_eq!((found.captures.len(), found.not_read.len()), (1, 1));
        assert!(found.not_read[0].fault.to_string().contains("same name"));
    }

    #[test]
    fn what_is_not_there_and_a_folder_without_captures_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        assert!(
            find(&[folder.path().to_path_buf()]).unwrap_err().to_string().contains("there is no capture")
        );
        let nowhere = folder.path().join("nowhere");
        let fault = find(std::slice::from_ref(&nowhere)).unwrap_err().to_string();
        assert!(fault.contains(&nowhere.display().to_string()), "{fault}");
    }

    #[test]
    fn after_a_signal_no_capture_is_read() {
        let capture = Capture { host: "web1".into(), path: "/nonexistent".into() };
        let gathered = Gathered::begin(1);
        let fault = read_all(&[capture], 2, &AtomicBool::new(true), &gathered).unwrap_err();
        assert_eq!(fault.class, Class::Interrupted);
        assert!(gathered.finish().unwrap().1.is_empty());
    }

    #[test]
    fn every_name_has_a_stem() {
        let stems = ["web1.TAR.ZST", "w.tar.gz", "a.tar.tar", ".tgz", "é.tar", "x.zip", "数.tbz2", "."]
            .map(|n| stem(Path::new(n)));
        assert_eq!(stems, ["web1", "w", "a.tar", ".tgz", "é", "x.zip", "数", "."]);
    }
}
