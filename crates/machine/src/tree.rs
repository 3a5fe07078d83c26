//! A file tree held in memory: an archive of another machine, or a machine made up by a test.

use std::collections::{BTreeMap, BTreeSet};

use crate::root::{Cause, ReadError, resolve};

/// How deep a path may be; sysfs stays below 30.
const DEEPEST: usize = 200;

#[derive(Debug, Clone)]
enum Entry {
    File(Vec<u8>),
    Dir(BTreeSet<String>),
    Link(String),
    Denied,
}

/// Files, directories and symbolic links by absolute path. Links are followed inside the tree only: `/` and `..`
/// at the top mean its root.
///
/// Flat rather than nested, so that no depth of an archive's paths can exhaust the stack.
#[derive(Debug, Clone)]
pub struct Tree {
    entries: BTreeMap<String, Entry>,
}

impl Default for Tree {
    fn default() -> Self {
        Self { entries: BTreeMap::from([("/".to_string(), Entry::Dir(BTreeSet::new()))]) }
    }
}

impl Tree {
    /// A tree with nothing but its root directory.
    pub fn new() -> Self {
        Self::default()
    }

    /// The tree with a file more. A path deeper than any machine's is left out (see [`Tree::add_file`]).
    pub fn file(mut self, path: &str, content: impl Into<Vec<u8>>) -> Self {
        let _ = self.add_file(path, content.into());
        self
    }

    /// The tree with an (empty) directory more.
    pub fn dir(mut self, path: &str) -> Self {
        let _ = self.add_dir(path);
        self
    }

    /// The tree with a symbolic link more.
    pub fn link(mut self, path: &str, target: &str) -> Self {
        let _ = self.add_link(path, target);
        self
    }

    /// The tree with a file that refuses to be read.
    pub fn denied(mut self, path: &str) -> Self {
        let _ = self.add(path, Entry::Denied);
        self
    }

    /// Adds a file, with the directories above it; what stood at `path` is replaced. `..` stays inside the tree.
    /// An error (in words) when the path is too deep.
    pub fn add_file(&mut self, path: &str, content: Vec<u8>) -> Result<(), String> {
        self.add(path, Entry::File(content))
    }

    /// Adds a directory, with those above it; one that is there stays as it is.
    pub fn add_dir(&mut self, path: &str) -> Result<(), String> {
        self.add(path, Entry::Dir(BTreeSet::new()))
    }

    /// Adds a symbolic link.
    pub fn add_link(&mut self, path: &str, target: &str) -> Result<(), String> {
        self.add(path, Entry::Link(target.to_string()))
    }

    /// Adds a second name of a file that is already there (a hard link of an archive); nothing when it is not.
    pub fn add_copy(&mut self, path: &str, original: &str) -> Result<(), String> {
        match self.entries.get(&spelled(&tidy(original)?)) {
            Some(entry @ (Entry::File(_) | Entry::Link(_))) => self.add(path, entry.clone()),
            _ => Ok(()),
        }
    }

    fn add(&mut self, path: &str, entry: Entry) -> Result<(), String> {
        let names = tidy(path)?;
        let Some((name, above)) = names.split_last() else { return Ok(()) };
        let mut parent = String::from("/");
        for folder in above {
            self.enlist(&parent, folder);
            parent = joined(&parent, folder);
        }
        self.enlist(&parent, name);
        let place = joined(&parent, name);
        match (self.entries.get(&place), &entry) {
            (Some(Entry::Dir(_)), Entry::Dir(_)) => {}
            _ => {
                self.forget_below(&place);
                self.entries.insert(place, entry);
            }
        }
        Ok(())
    }

    /// Makes `parent` a directory that holds `name`.
    fn enlist(&mut self, parent: &str, name: &str) {
        let directory = self.entries.entry(parent.to_string()).or_insert_with(|| Entry::Dir(BTreeSet::new()));
        match directory {
            Entry::Dir(names) => drop(names.insert(name.to_string())),
            other => *other = Entry::Dir(BTreeSet::from([name.to_string()])),
        }
    }

    fn forget_below(&mut self, place: &str) {
        if matches!(self.entries.get(place), Some(Entry::Dir(names)) if !names.is_empty()) {
            let below = format!("{place}/");
            self.entries.retain(|path, _| !path.starts_with(&below));
        }
    }

    /// The tree below one of its directories, with that directory as root; empty when there is none.
    pub fn subtree(&self, path: &str) -> Tree {
        let below = format!("{path}/");
        let mut tree = Tree::new();
        for (place, entry) in &self.entries {
            if let Some(rest) = place.strip_prefix(&below) {
                tree.entries.insert(format!("/{rest}"), entry.clone());
            } else if place == path {
                tree.entries.insert("/".into(), entry.clone());
            }
        }
        tree
    }

    /// The content of a file, links followed.
    pub(crate) fn content(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        match self.follow(path, true)? {
            Entry::File(content) => Ok(content.clone()),
            Entry::Denied => Err(denied(path)),
            Entry::Dir(_) | Entry::Link(_) => Err(ReadError::new(path, Cause::Other, "it is a directory")),
        }
    }

    /// The names in a directory, links followed.
    pub(crate) fn names(&self, path: &str) -> Result<Vec<String>, ReadError> {
        match self.follow(path, true)? {
            Entry::Dir(names) => Ok(names.iter().cloned().collect()),
            Entry::Denied => Err(denied(path)),
            Entry::File(_) | Entry::Link(_) => Err(ReadError::absent(path, "it is no directory")),
        }
    }

    /// The target of a link; links above it are followed.
    pub(crate) fn target(&self, path: &str) -> Result<String, ReadError> {
        match self.follow(path, false)? {
            Entry::Link(target) => Ok(target.clone()),
            _ => Err(ReadError::absent(path, "it is no symbolic link")),
        }
    }

    /// Whether the path leads to anything, links followed.
    pub(crate) fn leads_somewhere(&self, path: &str) -> bool {
        self.follow(path, true).is_ok()
    }

    /// The entry at a path: links on the way are followed, and one at the end if `last` is set.
    fn follow(&self, path: &str, last: bool) -> Result<&Entry, ReadError> {
        let link = |place: &str| match self.entries.get(place) {
            Some(Entry::Link(target)) => Some(target.clone()),
            _ => None,
        };
        let place = match (last, path.rsplit_once('/')) {
            (false, Some((above, name))) if !name.is_empty() => {
                joined(&resolve(above, link, |_| true)?, name)
            }
            _ => resolve(path, link, |_| true)?,
        };
        self.entries.get(&place).ok_or_else(|| match self.is_behind_denied(&place) {
            true => denied(path),
            false => ReadError::absent(path, "there is no such file"),
        })
    }

    fn is_behind_denied(&self, place: &str) -> bool {
        let above = place.match_indices('/').map(|(end, _)| &place[..end]);
        above.into_iter().any(|folder| matches!(self.entries.get(folder), Some(Entry::Denied)))
    }
}

fn denied(path: &str) -> ReadError {
    ReadError::new(path, Cause::Denied, "permission denied")
}

fn joined(parent: &str, name: &str) -> String {
    match parent {
        "/" => format!("/{name}"),
        _ => format!("{parent}/{name}"),
    }
}

fn spelled(names: &[&str]) -> String {
    format!("/{}", names.join("/"))
}

/// The names on a path, `.` left out and `..` taken back without leaving the root.
fn tidy(path: &str) -> Result<Vec<&str>, String> {
    let mut names = Vec::new();
    for name in path.split('/') {
        match name {
            "" | "." => {}
            ".." => drop(names.pop()),
            _ => names.push(name),
        }
        if names.len() > DEEPEST {
            return Err(format!("a path in it is deeper than {DEEPEST} folders"));
        }
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Tree {
        Tree::new()
            .file("/sys/devices/pci0/net/eth0/mtu", "1500\n")
            .link("/sys/class/net/eth0", "../../devices/pci0/net/eth0")
            .link("/sys/devices/pci0/net/eth0/device", "../..")
            .link("/absolute", "/sys/devices")
            .link("/round", "/round")
            .link("/out", "../../../etc/passwd")
            .denied("/secret")
    }

    #[test]
    fn links_are_followed_inside_the_tree_only() {
        let tree = sample();
        assert_eq!(tree.content("/sys/class/net/eth0/mtu").unwrap(), b"1500\n");
        assert_eq!(tree.names("/sys/class/net/eth0/device").unwrap(), ["net"]);
        assert_eq!(tree.names("/absolute").unwrap(), ["pci0"]);
        assert!(tree.content("/out").unwrap_err().is_absent());
        assert_eq!(tree.content("/round").unwrap_err().kind, Cause::Malformed);
        assert_eq!(tree.target("/sys/class/net/eth0").unwrap(), "../../devices/pci0/net/eth0");
    }

    #[test]
    fn what_is_no_file_says_so() {
        let tree = sample();
        assert_eq!(tree.content("/secret").unwrap_err().kind, Cause::Denied);
        assert!(tree.content("/sys").is_err());
        assert!(tree.names("/sys/class/net/eth0/mtu").unwrap_err().is_absent());
        assert!(tree.content("/sys/class/net/eth0/mtu/x").unwrap_err().is_absent());
        assert!(tree.target("/sys").unwrap_err().is_absent());
        assert_eq!(tree.content("/secret/below").unwrap_err().kind, Cause::Denied);
    }

    #[test]
    fn later_entries_replace_earlier_ones_and_depth_is_bounded() {
        let tree = Tree::new().file("/a/b", "1").file("/a", "2");
        assert_eq!(tree.content("/a").unwrap(), b"2");
        assert!(!tree.leads_somewhere("/a/b"));
        let tree = tree.file("/a/c", "3");
        assert_eq!(tree.content("/a/c").unwrap(), b"3");
        assert!(Tree::new().add_dir(&"x/".repeat(100_000)).is_err());
    }

    proptest::proptest! {
        #[test]
        fn no_tangle_of_links_leaves_or_hangs(
            links in proptest::collection::vec(("[a-c./]{1,6}", "[a-c./]{1,6}"), 0..12),
            path in "[a-c/]{1,8}",
        ) {
            let mut tree = Tree::new().file("/a/a", "x");
            for (from, to) in links {
                let _ = tree.add_link(&from, &to);
            }
            let _ = tree.content(&path);
            let _ = tree.names(&path);
            let _ = tree.target(&path);
        }
    }
}
