//! The cases below the folder that the server was started with.

mod entry;
mod search;

use std::collections::{HashMap, HashSet};
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use machine::{Class, Fault};
use serde_json::{Value, json};

use super::answers::Refusal;
use super::blocking::beside;
use crate::case_size;
use entry::{Entry, Stamp};
use search::Found;

/// What a folder has that holds a case.
const STUDY: &str = "study.toml";

/// The id of the folder itself, where that is a case. It is no lone dot, which browsers take out of an address.
const ITSELF: &str = "./";

/// The longest id, bytes: no path is longer.
const LONGEST_ID: usize = 4096;

/// The most cases that are listed.
const MOST: usize = 1000;

/// The cases as they were read last, so that a list reads only what has changed.
#[derive(Default)]
pub(super) struct Known(Mutex<HashMap<PathBuf, (Stamp, Entry)>>);

/// The folder of a case. It looks at files.
///
/// # Errors
/// It is not the id of a case: it leads elsewhere (`..`, a link), is malformed or too long, or holds none.
pub(super) fn folder_of(dir: &Path, id: &str) -> Result<PathBuf, Fault> {
    let folder = named(dir, id).ok_or_else(|| no_case(id, "it is not a folder below that of the server"))?;
    // Equal to itself without links: no part of it is one.
    let is_plain = folder.canonicalize().is_ok_and(|real| real == folder) && folder.is_dir();
    match is_plain && folder.join(STUDY).symlink_metadata().is_ok() {
        true => Ok(folder),
        false => Err(no_case(id, "it has no case, or its path has a symbolic link")),
    }
}

/// The folder that an id names, whether or not it exists; `None` of one that is no plain path.
fn named(dir: &Path, id: &str) -> Option<PathBuf> {
    if id == ITSELF {
        return Some(dir.to_path_buf());
    }
    let is_plain = |part: Component<'_>| matches!(part, Component::Normal(_));
    let is_path = !id.is_empty() && id.len() <= LONGEST_ID && !id.contains('\0');
    let plain: PathBuf = Path::new(id).components().filter(|part| is_plain(*part)).collect();
    // Whatever the parts leave out (a dot, a slash too many) is no part of an id.
    (is_path && plain.as_os_str() == id).then(|| dir.join(plain))
}

fn no_case(id: &str, cause: &str) -> Fault {
    let shown: String = id.chars().take(200).collect();
    Fault::new(Class::Usage, shown, cause, "choose one from the list of cases")
}

/// As [`folder_of`], for a handler.
///
/// # Errors
/// As [`folder_of`], as something that does not exist; the case is too large.
pub(super) async fn folder(dir: PathBuf, id: String) -> Result<PathBuf, Refusal> {
    let find = move || folder_of(&dir, &id).and_then(|folder| case_size::fits(&folder).map(|()| folder));
    let found = beside("the folder of a case", find).await;
    found.map_err(|fault| match fault.class {
        Class::Usage => Refusal::NotFound(fault.object),
        _ => Refusal::Fault(fault),
    })
}

/// The cases below `dir` in which `text` stands (in the id, or the name of the server or its host), those first that were written to
/// last. Cases are read until `until`; of one whose turn has not come only the id is known, and more when the list is asked for again.
/// Where there are very many, the older ones are searched by their id alone.
///
/// # Errors
/// The folder cannot be read.
pub(super) fn list(dir: &Path, known: &Known, text: &str, until: Instant) -> Result<Value, Fault> {
    let search::Search { mut found, unnamed, is_whole } = search::below(dir)?;
    let text = text.to_lowercase();
    let in_all = found.len();
    let older = found.split_off(in_all.min(MOST));
    let is_named = |found: &Found| !text.is_empty() && found.id.to_lowercase().contains(&text);
    found.extend(older.into_iter().filter(is_named));
    let left_out = unnamed + in_all - found.len();
    let mut known = known.0.lock().unwrap_or_else(PoisonError::into_inner);
    let there: HashSet<&Path> = found.iter().map(|found| found.folder.as_path()).collect();
    known.retain(|folder, _| there.contains(folder.as_path()));
    let entries: Vec<Entry> = found.iter().map(|found| read(&mut known, found, until)).collect();
    let is_read = entries.iter().all(Entry::is_read);
    let mut cases: Vec<Entry> = entries.into_iter().filter(|entry| entry.has(&text)).collect();
    let left_out = left_out + cases.len().saturating_sub(MOST);
    cases.truncate(MOST);
    Ok(json!({ "cases": cases, "left_out": left_out, "whole": is_read, "searched": is_whole }))
}

/// What is known of a case, or is now.
fn read(known: &mut HashMap<PathBuf, (Stamp, Entry)>, found: &Found, until: Instant) -> Entry {
    let stamp = Stamp::of(&found.folder);
    let earlier = known.remove(&found.folder).filter(|(at, _)| *at == stamp).map(|(_, entry)| entry);
    let entry = entry::read(found, earlier, until);
    // One that could not be read may be readable later, with the same files.
    if entry.is_known() {
        known.insert(found.folder.clone(), (stamp, entry.clone()));
    }
    entry.with_running(&found.folder)
}

#[cfg(test)]
mod tests;
