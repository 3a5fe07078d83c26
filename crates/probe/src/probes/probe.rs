//! What every probe is: it describes itself, says what it needs, and reads.

use machine::{Missing, Root};

use crate::rows::{Rows, because};

/// What a probe is, for `pinwise list probes` and the manual.
#[derive(Debug, Clone, Copy)]
pub struct About {
    /// Name in rows and findings: lower case, stays for ever.
    pub id: &'static str,
    /// What it reads, in one line.
    pub title: &'static str,
    /// What it reads, what the rows mean, and how they mislead.
    pub docs: &'static str,
    /// Files that it reads, with `*` and `PID` in place of numbers.
    pub files: &'static [&'static str],
    /// Whether it reads several files a CPU: left out where that takes too long to be done ten times a second.
    pub dear: bool,
}

/// Reads counters of one kind, from any root.
pub trait Probe: Sync {
    /// What it is.
    fn about(&self) -> &About;

    /// What this root is missing for it, with the remedy; nothing if all is there.
    fn needs(&self, root: &Root) -> Vec<Missing>;

    /// Reads once, into the frame that is open. A fact that is missing among others goes to [`Rows::missing`].
    ///
    /// # Errors
    /// When nothing could be read: what, and why.
    fn read(&self, root: &Root, into: &mut Rows) -> Result<(), Missing>;
}

/// Notes the files among `paths` that cannot be read.
pub(super) fn unreadable(root: &Root, paths: &[&str]) -> Vec<Missing> {
    paths.iter().filter_map(|path| root.read_bytes(path).err().map(|e| because(path, &e))).collect()
}
