//! A file tree held in memory: an archive of another machine, or a machine made up by a test.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use super::{Cause, ReadError, resolve};

// A tree may come from anybody, so all of it is bounded. Of the 30 captures of real machines that the tests read, with up to
// 256 CPUs, the largest has 16,130 entries, 0.6 MB in its files, paths of 145 bytes that are 15 folders deep, and links of
// 91 bytes. A machine of 4096 CPUs has 16 times as many entries, and at most 180 MiB in one file, /proc/interrupts.

/// How deep a path may be.
const DEEPEST: usize = 200;

/// How long a path or the target of a link may be, bytes: no longer one can be given to Linux (PATH_MAX).
const LONGEST_BYTES: usize = 4096;

/// Most entries, the folders among them that only paths name.
const MOST_ENTRIES: usize = 1_000_000;

/// Most bytes of memory. Everything that was ever added counts, also what was replaced since, and each name of a file counts
/// as a file: who reads every file of a tree once reads no more than this.
pub(crate) const MOST_BYTES: u64 = 512 << 20;

/// What an entry takes beside its texts and its content, bytes: its places in the map of all entries and in its folder's list.
const ENTRY_BYTES: usize = 256;

#[derive(Debug, Clone)]
enum Entry {
    /// The other names of a file (hard links of an archive) share its content.
    File(Arc<Vec<u8>>),
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
    /// What all that was added takes, bytes.
    held_bytes: u64,
}

impl Default for Tree {
    fn default() -> Self {
        Self { entries: BTreeMap::from([("/".to_string(), Entry::Dir(BTreeSet::new()))]), held_bytes: 0 }
    }
}

impl Tree {
    /// A tree with nothing but its root directory.
    pub fn new() -> Self {
        Self::default()
    }

    /// The tree with a file more. What is beyond any machine is left out (see [`Tree::add_file`]).
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
    ///
    /// # Errors
    /// In words, with the bound: the path is too long or too deep, or the tree would hold too many entries or bytes.
    pub fn add_file(&mut self, path: &str, content: Vec<u8>) -> Result<(), String> {
        self.add(path, Entry::File(Arc::new(content)))
    }

    /// Adds a directory, with those above it; one that is there stays as it is. Errors: as for [`Tree::add_file`].
    pub fn add_dir(&mut self, path: &str) -> Result<(), String> {
        self.add(path, Entry::Dir(BTreeSet::new()))
    }

    /// Adds a symbolic link. Errors: as for [`Tree::add_file`], and a target that is too long.
    pub fn add_link(&mut self, path: &str, target: &str) -> Result<(), String> {
        if target.len() > LONGEST_BYTES {
            return Err(format!("the target of a link in it is longer than {LONGEST_BYTES} bytes"));
        }
        self.add(path, Entry::Link(target.to_string()))
    }

    /// Adds a second name of a file that is already there (a hard link of an archive); nothing when it is not. Both share
    /// their content. Errors: as for [`Tree::add_file`].
    pub fn add_copy(&mut self, path: &str, original: &str) -> Result<(), String> {
        match self.entries.get(&spelled(&tidy(original)?)) {
            Some(entry @ (Entry::File(_) | Entry::Link(_))) => self.add(path, entry.clone()),
            _ => Ok(()),
        }
    }

    /// How many bytes more it may hold.
    pub(crate) fn room_bytes(&self) -> u64 {
        MOST_BYTES.saturating_sub(self.held_bytes)
    }

    fn add(&mut self, path: &str, entry: Entry) -> Result<(), String> {
        let names = tidy(path)?;
        let Some((name, above)) = names.split_last() else { return Ok(()) };
        // Nearly always the folder is there already, and those above it need not be looked at.
        let is_folder =
            |depth: &usize| matches!(self.entries.get(&spelled(&above[..*depth])), Some(Entry::Dir(_)));
        let known = (0..=above.len()).rev().find(is_folder).unwrap_or(0);
        for depth in known..above.len() {
            self.put(&spelled(&above[..depth]), above[depth], Entry::Dir(BTreeSet::new()))?;
        }
        self.put(&spelled(above), name, entry)
    }

    /// Puts an entry into a folder that is there. A folder stays as it is where another one is to be put in its place.
    fn put(&mut self, folder: &str, name: &str, entry: Entry) -> Result<(), String> {
        let place = joined(folder, name);
        if let (Some(Entry::Dir(_)), Entry::Dir(_)) = (self.entries.get(&place), &entry) {
            return Ok(());
        }
        self.make_room(place.len() + name.len() + ENTRY_BYTES + entry.bytes())?;
        if let Some(Entry::Dir(names)) = self.entries.get_mut(folder) {
            names.insert(name.to_string());
        }
        self.forget_below(&place);
        self.entries.insert(place, entry);
        Ok(())
    }

    /// Counts what is to be added.
    fn make_room(&mut self, bytes: usize) -> Result<(), String> {
        if self.entries.len() >= MOST_ENTRIES {
            return Err(format!("it holds more than {MOST_ENTRIES} files and folders"));
        }
        if bytes as u64 > self.room_bytes() {
            return Err(too_large());
        }
        self.held_bytes += bytes as u64;
        Ok(())
    }

    fn forget_below(&mut self, place: &str) {
        if !matches!(self.entries.get(place), Some(Entry::Dir(_))) {
            return;
        }
        // Only what lies there is looked at: an archive may replace a folder a million times.
        let (first, end) = (format!("{place}/"), format!("{place}0"));
        let below = (Bound::Included(first.as_str()), Bound::Excluded(end.as_str()));
        let below: Vec<String> = self.entries.range::<str, _>(below).map(|(path, _)| path.clone()).collect();
        below.iter().for_each(|path| drop(self.entries.remove(path)));
    }

    /// The tree below one of its directories, with that directory as root; empty when there is none.
    #[must_use]
    pub fn into_subtree(self, path: &str) -> Tree {
        let below = format!("{path}/");
        let mut tree = Tree { held_bytes: self.held_bytes, ..Tree::new() };
        for (place, entry) in self.entries {
            if let Some(rest) = place.strip_prefix(&below) {
                tree.entries.insert(format!("/{rest}"), entry);
            } else if place == path {
                tree.entries.insert("/".into(), entry);
            }
        }
        tree
    }

    /// The content of a file, links followed.
    pub(crate) fn content(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        match self.follow(path, true)? {
            Entry::File(content) => Ok(content.to_vec()),
            Entry::Denied => Err(denied(path)),
            Entry::Dir(_) | Entry::Link(_) => Err(ReadError::new(path, Cause::Other, "it is a directory")),
        }
    }

    /// The names in a directory, links followed.
    pub(crate) fn names(&self, path: &str) -> Result<Vec<String>, ReadError> {
        match self.follow(path, true)? {
            Entry::Dir(names) => Ok(names.iter().cloned().collect()),
            Entry::Denied => Err(denied(path)),
            Entry::File(_) | Entry::Link(_) => Err(ReadError::absent(path, "it is not a directory")),
        }
    }

    /// The target of a link; links above it are followed.
    pub(crate) fn target(&self, path: &str) -> Result<String, ReadError> {
        match self.follow(path, false)? {
            Entry::Link(target) => Ok(target.clone()),
            _ => Err(ReadError::absent(path, "it is not a symbolic link")),
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

impl Entry {
    /// What it takes for itself, bytes.
    fn bytes(&self) -> usize {
        match self {
            Entry::File(content) => content.len(),
            Entry::Link(target) => target.len(),
            Entry::Dir(_) | Entry::Denied => 0,
        }
    }
}

/// Why a tree takes no more.
pub(crate) fn too_large() -> String {
    format!("it unfolds to more than {} MiB", MOST_BYTES >> 20)
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
    if path.len() > LONGEST_BYTES {
        return Err(format!("a path in it is longer than {LONGEST_BYTES} bytes"));
    }
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
    }

    #[test]
    fn paths_and_links_are_bounded() {
        let told = |added: Result<(), String>| added.unwrap_err();
        assert!(told(Tree::new().add_dir(&"x/".repeat(201))).contains("deeper than 200 folders"));
        assert!(told(Tree::new().add_dir(&"x/".repeat(100_000))).contains("longer than 4096 bytes"));
        assert!(told(Tree::new().add_file(&"x".repeat(4097), Vec::new())).contains("longer than 4096 bytes"));
        let long = told(Tree::new().add_link("a", &"x".repeat(4097)));
        assert!(long.contains("target of a link") && long.contains("4096 bytes"), "{long}");
    }

    #[test]
    fn names_of_one_file_share_its_content_and_each_counts() {
        let mut tree = Tree::new().file("/a", vec![0; 100 << 20]);
        (0..4).for_each(|n| tree.add_copy(&format!("/copy{n}"), "/a").unwrap());
        let content = |place: &str| match &tree.entries[place] {
            Entry::File(content) => content.clone(),
            other => panic!("{other:?}"),
        };
        assert!(Arc::ptr_eq(&content("/a"), &content("/copy3")));
        assert!(tree.add_copy("/one-more", "/a").unwrap_err().contains("more than 512 MiB"));
    }

    #[test]
    fn what_was_replaced_counts_too() {
        let mut tree = Tree::new();
        let mut added = (0..100).map(|_| tree.add_file("/a", vec![0; 16 << 20]));
        assert!(added.find_map(Result::err).unwrap().contains("more than 512 MiB"));
        // Each time 199 folders are made and forgotten.
        let (mut tree, deep) = (Tree::new(), format!("/a/{}", "name-of-16-bytes/".repeat(198)));
        let mut added =
            (0..100_000).map(|_| tree.add_dir(&deep).and_then(|()| tree.add_file("/a", Vec::new())));
        assert!(added.find_map(Result::err).unwrap().contains("more than 512 MiB"));
    }

    #[test]
    fn what_is_forgotten_is_what_lies_below_and_nothing_beside_it() {
        let tree = Tree::new()
            .file("/a/b", "1")
            .file("/a.b", "2")
            .file("/a0", "3")
            .file("/a-b/c", "4")
            .file("/a", "5");
        assert!(!tree.leads_somewhere("/a/b"));
        let left = ["/a.b", "/a0", "/a-b/c", "/a"].map(|path| tree.content(path).unwrap());
        assert_eq!(left, [b"2", b"3", b"4", b"5"]);
    }

    #[test]
    fn a_path_that_links_lengthen_ends() {
        let mut tree = Tree::new().file("/l30", "end");
        (0..30).for_each(|n| {
            tree.add_link(&format!("/l{n}"), &format!("{}l{}", "./".repeat(1_000), n + 1)).unwrap()
        });
        assert_eq!(tree.content("/l29").unwrap(), b"end");
        let error = tree.content("/l0").unwrap_err();
        assert!(error.kind == Cause::Malformed && error.why.contains("2000 names"), "{error}");
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
