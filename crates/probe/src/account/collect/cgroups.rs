//! Cgroups by their number: the inode of their folder (cgroup v2).

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use machine::Root;
use machine::limits::mounts;

/// Most folders that are looked at.
const MOST_FOLDERS: usize = 100_000;

/// The path below the mount of each of these cgroups; those that are gone or hidden are left out.
pub(in crate::account) fn paths(root: &Root, wanted: &BTreeSet<u64>) -> BTreeMap<u64, String> {
    let mountinfo = root.read("/proc/self/mountinfo").unwrap_or_default();
    let mount = mounts::parse(&mountinfo).into_iter().find(mounts::Mount::is_v2);
    let top = mount.and_then(|mount| mount.directory("/"));
    top.map(|top| below(Path::new(&top), wanted)).unwrap_or_default()
}

/// Walks down from `top` until all are found.
fn below(top: &Path, wanted: &BTreeSet<u64>) -> BTreeMap<u64, String> {
    let mut found = BTreeMap::new();
    let mut todo: Vec<PathBuf> = vec![top.to_path_buf()];
    let mut looked = 0;
    while let Some(folder) = todo.pop() {
        if found.len() == wanted.len() || looked == MOST_FOLDERS {
            break;
        }
        looked += 1;
        if let Some(number) = std::fs::metadata(&folder).ok().map(|about| about.ino())
            && wanted.contains(&number)
        {
            let path = folder.strip_prefix(top).unwrap_or(&folder);
            found.insert(number, format!("/{}", path.display()));
        }
        let inside = std::fs::read_dir(&folder).into_iter().flatten().flatten();
        todo.extend(
            inside.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir())).map(|e| e.path()),
        );
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_found_by_their_inode() {
        let top = tempfile::tempdir().unwrap();
        let unit = top.path().join("system.slice/nginx.service");
        std::fs::create_dir_all(&unit).unwrap();
        let number = |path: &Path| std::fs::metadata(path).unwrap().ino();
        let wanted = BTreeSet::from([number(&unit), number(top.path()), 1]);
        let mut paths: Vec<String> = below(top.path(), &wanted).into_values().collect();
        paths.sort();
        assert_eq!(paths, ["/", "/system.slice/nginx.service"]);
    }
}
