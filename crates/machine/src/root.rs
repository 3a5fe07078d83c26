//! Where facts are read from: the live system, another network namespace, a directory, an archive, a capture.
//!
//! Every reader takes a [`Root`] and names files by their absolute path on the machine that is described
//! (`/sys/devices/system/cpu/online`). So what reads this machine also reads one that was taken home.

mod accept_queues;
mod archive;
mod boot_evidence;
mod bounded_stream;
mod container_name;
mod damaged;
mod descriptor;
mod directory;
mod error;
pub(crate) mod ethtool_netlink;
mod folder_cache;
mod guest_name;
mod io_priority;
pub mod irqbalance_socket;
mod live;
mod netlink_channel;
mod netns;
mod paths;
mod read_budget;
mod recording;
mod replay;
mod route;
mod source;
mod supplied_fact;
mod tree;
mod value_formats;

use std::fs::File;
use std::path::{Path, PathBuf};

pub(crate) use accept_queues::ACCEPT_QUEUES;
pub(crate) use container_name::CONTAINER_NAME;
pub use error::{Cause, ReadError};
pub(crate) use guest_name::GUEST_NAME;
pub(crate) use io_priority::IO_PRIORITY;
pub(crate) use irqbalance_socket::IRQBALANCE;
pub(crate) use live::ETHTOOL;
pub use live::FACTS;
pub(crate) use route::{ROUTE, Route};
pub use tree::Tree;

use crate::Fault;
use crate::capture::{Capture, INDEX};
use damaged::damaged;
use paths::resolve;
use source::{Source, single_folder};

/// The longest index of a capture. It takes some ten times as much in memory. That of 24 CPUs has 27 kB.
const LONGEST_INDEX_BYTES: usize = 64 << 20;

/// While it lives, the folders of the running system that a reader lists stay open for what it reads below them.
pub(crate) struct OpenFolders<'a>(&'a Root);

impl Drop for OpenFolders<'_> {
    fn drop(&mut self) {
        self.0.source.let_folders_go();
    }
}

/// Where facts are read from. Cheap to pass by reference, usable from several threads.
pub struct Root {
    source: Box<dyn Source>,
    recording: Option<std::sync::Arc<recording::Record>>,
    origin: String,
}

impl std::fmt::Debug for Root {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Root({})", self.origin)
    }
}

impl Root {
    fn new(source: impl Source + 'static, origin: impl Into<String>) -> Self {
        Self { source: Box::new(source), recording: None, origin: origin.into() }
    }

    /// The running system.
    pub fn live() -> Self {
        Self::new(live::Live::default(), "the running system")
    }

    /// The running system as another network namespace sees it: /sys shows the devices of /run/netns/`name`
    /// (ip-netns(8)), /proc/sys/net its settings; all else is as in [`Root::live`].
    ///
    /// A thread of its own enters the namespace and serves the reads; it ends when the root is dropped.
    /// Needs CAP_SYS_ADMIN (a fault of class `NotPermitted` otherwise).
    pub fn live_in_netns(name: &str) -> Result<Self, Fault> {
        Ok(Self::new(netns::Netns::enter(name)?, format!("network namespace {name}")))
    }

    /// A machine that was taken home: a directory, an archive (.tar, .tar.gz, .tar.bz2, .tar.zst) or a capture in
    /// either form. A single folder at its top is entered.
    ///
    /// Symbolic links never lead out of it, only regular files are opened, and everything that is read of it is bounded.
    /// Faults: unreadable or damaged file, an archive beyond a bound, unknown kind of archive, a capture of another format
    /// version.
    pub fn at(path: &Path) -> Result<Self, Fault> {
        let origin = path.display().to_string();
        let meta = std::fs::metadata(path).map_err(|e| Fault::io(&origin, &e, "check the path"))?;
        if meta.is_dir() {
            let directory = directory::Directory::open(path)?;
            let directory = match single_folder(&directory) {
                Some(folder) => directory.into_folder(&folder)?,
                None => directory,
            };
            return Self::over(directory, origin);
        }
        let tree = archive::load(path)?;
        let tree = match single_folder(&tree) {
            Some(folder) => tree.into_subtree(&format!("/{folder}")),
            None => tree,
        };
        Self::over(tree, origin)
    }

    /// A tree held in memory; for tests.
    pub fn from_tree(tree: Tree) -> Self {
        Self::new(tree, "a tree in memory")
    }

    /// Reads through to `inner` and keeps every answer, also the failures, until [`Root::take_capture`].
    ///
    /// It describes one moment: the same question asked twice gets the first answer again, so that a machine read
    /// through it and a machine read from its capture are the same.
    pub fn recording(inner: Root) -> Self {
        let origin = format!("recording of {}", inner.origin);
        let record = std::sync::Arc::new(recording::Record::default());
        let source = recording::Recording::new(inner.source, record.clone());
        Self { source: Box::new(source), recording: Some(record), origin }
    }

    /// The same root with a fact that it need not know itself: what somebody measured, and brings along. A capture has it when
    /// the recording root stands around this one.
    #[must_use]
    pub fn with_fact(self, name: impl Into<String>, value: impl Into<String>) -> Self {
        let source =
            supplied_fact::SuppliedFact { inner: self.source, name: name.into(), value: value.into() };
        Self { source: Box::new(source), ..self }
    }

    /// What was read through this root so far, if it records; the root goes on with an empty record.
    pub fn take_capture(&self) -> Option<Capture> {
        self.recording.as_ref().map(|record| record.take(|name| self.source.fact(name)))
    }

    /// A directory or tree: a capture if it holds an index, plain files otherwise.
    fn over(source: impl Source + 'static, origin: String) -> Result<Self, Fault> {
        match source.read(&format!("/{INDEX}")) {
            Ok(index) if index.len() > LONGEST_INDEX_BYTES => {
                let why = format!("{INDEX} in it is longer than {} MiB", LONGEST_INDEX_BYTES >> 20);
                Err(damaged(&origin, why))
            }
            Ok(index) => {
                let replay = replay::Replay::new(source, &index, &origin)?;
                Ok(Self::new(read_budget::BudgetedSource::new(replay), origin))
            }
            Err(e) if e.is_absent() => Ok(Self::new(read_budget::BudgetedSource::new(source), origin)),
            Err(e) => Err(Fault::from(e)),
        }
    }

    /// The text of a file of rows or fields; NULs at its end are left out (a tar of live sysfs pads files with them).
    ///
    /// What is no UTF-8 is replaced by U+FFFD: a field with one is no number, list or name that is known, and the others
    /// are read. A name with one is for showing only, and leads to no file.
    pub fn read(&self, path: impl AsRef<Path>) -> Result<String, ReadError> {
        let bytes = self.without_padding(path.as_ref())?;
        Ok(String::from_utf8(bytes).unwrap_or_else(|e| String::from_utf8_lossy(e.as_bytes()).into_owned()))
    }

    /// The same of a file that is one value, or that is written back: text that is no UTF-8 is `Malformed`.
    pub fn read_exact(&self, path: impl AsRef<Path>) -> Result<String, ReadError> {
        let path = path.as_ref();
        let bytes = self.without_padding(path)?;
        String::from_utf8(bytes).map_err(|e| ReadError::malformed(path, e.utf8_error()))
    }

    fn without_padding(&self, path: &Path) -> Result<Vec<u8>, ReadError> {
        let mut bytes = self.read_bytes(path)?;
        bytes.truncate(bytes.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1));
        Ok(bytes)
    }

    /// The content of a file, byte for byte.
    pub fn read_bytes(&self, path: impl AsRef<Path>) -> Result<Vec<u8>, ReadError> {
        self.source.read(&paths::locate(path.as_ref())?)
    }

    /// The open file, for counters that are read again and again: it costs less than opening it each time. `None` where
    /// there are no files (an archive in memory): [`Root::read_bytes`] serves there.
    ///
    /// What is read through it is in no capture, also when this root records.
    pub fn open(&self, path: impl AsRef<Path>) -> Result<Option<File>, ReadError> {
        self.source.open(&paths::locate(path.as_ref())?)
    }

    /// Hands over the lines of a file one by one, without their ends; what is no UTF-8 is replaced by U+FFFD.
    ///
    /// For files that can be larger than memory should hold (numa_maps of a server with a million mappings): on the
    /// running system one line is held at a time.
    pub fn each_line(&self, path: impl AsRef<Path>, mut take: impl FnMut(&str)) -> Result<(), ReadError> {
        let path = paths::locate(path.as_ref())?;
        self.source.each_line(&path, &mut |line| take(&String::from_utf8_lossy(line)))
    }

    /// The names in a directory, in natural order (`cpu2` before `cpu10`).
    pub fn list(&self, path: impl AsRef<Path>) -> Result<Vec<String>, ReadError> {
        let mut names = self.source.list(&paths::locate(path.as_ref())?)?;
        names.sort_by(|a, b| paths::natural_order(a, b));
        Ok(names)
    }

    /// The target of a symbolic link, as it is written there.
    pub fn link(&self, path: impl AsRef<Path>) -> Result<PathBuf, ReadError> {
        self.source.link(&paths::locate(path.as_ref())?).map(PathBuf::from)
    }

    /// The absolute path with every link followed, as realpath(1) prints it.
    pub fn resolve(&self, path: impl AsRef<Path>) -> Result<PathBuf, ReadError> {
        self.source.resolve(&paths::locate(path.as_ref())?).map(PathBuf::from)
    }

    /// Whether the path leads to anything, links followed; false also when that cannot be seen.
    pub fn exists(&self, path: impl AsRef<Path>) -> bool {
        paths::locate(path.as_ref()).is_ok_and(|path| self.source.exists(&path))
    }

    /// A fact that is no file: one of [`FACTS`] (`page_size` bytes, `clock_ticks` a second, `release`, `version`,
    /// `machine` and `nodename` as uname(2) reports them, `euid`). Absent where the root cannot know it.
    pub fn fact(&self, name: &str) -> Result<String, ReadError> {
        self.source.fact(name)
    }

    /// Keeps folders that are listed open: for as long as one machine is read, since a folder that is gone and has come
    /// again is not seen through one that stayed open.
    pub(crate) fn keep_folders(&self) -> OpenFolders<'_> {
        self.source.keep_folders();
        OpenFolders(self)
    }

    /// Whether this is the running system (also in another network namespace, also recorded).
    pub fn is_live(&self) -> bool {
        self.source.is_live()
    }

    /// Where it reads from, in words for messages.
    pub fn origin(&self) -> &str {
        &self.origin
    }
}

impl Source for Tree {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        self.content(path)
    }

    fn list(&self, path: &str) -> Result<Vec<String>, ReadError> {
        self.names(path)
    }

    fn link(&self, path: &str) -> Result<String, ReadError> {
        self.target(path)
    }

    fn exists(&self, path: &str) -> bool {
        self.leads_somewhere(path)
    }

    fn fact(&self, name: &str) -> Result<String, ReadError> {
        Err(ReadError::absent(name, "only the running system and captures know it"))
    }
}
