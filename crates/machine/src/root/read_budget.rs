//! A bound on all that is read of a machine from elsewhere.

use std::sync::atomic::{AtomicU64, Ordering};

use super::{ReadError, Source};

/// What a question costs beside the bytes of its answer.
const QUESTION_BYTES: u64 = 256;

/// Most bytes of all answers, 4 GiB: a map of 24 CPUs takes less than 16 MiB. Bounds on single files and folders are not enough, as
/// links among folders (and bind mounts) can show one file in a million places, and a million folders without end.
const MOST_BYTES: u64 = 4 << 30;

/// A source that answers until a bound is passed: then all readers come to their ends, and say what is missing.
pub(super) struct BudgetedSource<S> {
    inner: S,
    bytes: AtomicU64,
    most_bytes: u64,
}

impl<S: Source> BudgetedSource<S> {
    /// Questions to `inner`, not counted yet.
    pub(super) fn new(inner: S) -> Self {
        Self { inner, bytes: AtomicU64::new(0), most_bytes: MOST_BYTES }
    }

    /// Counts a question.
    fn ask(&self, path: &str) -> Result<(), ReadError> {
        let so_far = self.bytes.fetch_add(QUESTION_BYTES, Ordering::Relaxed);
        match so_far > self.most_bytes {
            true => Err(ReadError::malformed(
                path,
                format!(
                    "more than {} MiB were read of this tree already: it repeats itself, or is larger than any machine",
                    self.most_bytes >> 20
                ),
            )),
            false => Ok(()),
        }
    }

    fn answered(&self, bytes: usize) {
        self.bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }
}

impl<S: Source> Source for BudgetedSource<S> {
    fn read(&self, path: &str) -> Result<Vec<u8>, ReadError> {
        self.ask(path)?;
        let content = self.inner.read(path)?;
        self.answered(content.len());
        Ok(content)
    }

    fn list(&self, path: &str) -> Result<Vec<String>, ReadError> {
        self.ask(path)?;
        let names = self.inner.list(path)?;
        // A reader that goes into each keeps its path.
        self.answered(names.iter().map(|name| path.len() + name.len()).sum());
        Ok(names)
    }

    fn link(&self, path: &str) -> Result<String, ReadError> {
        self.ask(path)?;
        self.inner.link(path)
    }

    fn exists(&self, path: &str) -> bool {
        self.ask(path).is_ok() && self.inner.exists(path)
    }

    fn resolve(&self, path: &str) -> Result<String, ReadError> {
        self.ask(path)?;
        self.inner.resolve(path)
    }

    fn fact(&self, name: &str) -> Result<String, ReadError> {
        self.ask(name)?;
        self.inner.fact(name)
    }

    fn open(&self, path: &str) -> Result<Option<std::fs::File>, ReadError> {
        self.ask(path)?;
        self.inner.open(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Cause, Root, Tree};

    #[test]
    fn a_tree_without_end_ends() {
        // Each folder of cgroups holds itself, twice.
        let tree = Tree::new()
            .file("/proc/self/mountinfo", "1 0 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
            .file("/sys/fs/cgroup/cgroup.procs", "1\n")
            .file("/sys/fs/cgroup/cpuset.cpus", "0\n")
            .link("/sys/fs/cgroup/one", ".")
            .link("/sys/fs/cgroup/other", ".");
        let asked = BudgetedSource { most_bytes: 64 << 20, ..BudgetedSource::new(tree) };
        let root = Root::new(asked, "a tree");
        let knob = crate::knobs::find("cpuset").unwrap();
        let _ = knob.targets(&root);
        let error = root.read("/proc/self/mountinfo").unwrap_err();
        assert!(
            error.kind == Cause::Malformed && error.why.contains("more than 64 MiB were read"),
            "{error}"
        );
        assert!(!root.exists("/sys") && root.list("/sys").is_err());
    }

    #[test]
    fn a_real_machine_takes_little_of_the_bound() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../fixtures/machines/leviathan/capture.tar.zst");
        let path = std::path::Path::new(path);
        let tree = super::super::archive::load(path).unwrap();
        let folder = super::super::single_folder(&tree).unwrap();
        let tree = tree.into_subtree(&format!("/{folder}"));
        let index = tree.read(&format!("/{}", crate::capture::INDEX)).unwrap();
        let replay = super::super::replay::Replay::new(tree, &index, "leviathan").unwrap();
        let bounded =
            Root::new(BudgetedSource { most_bytes: 16 << 20, ..BudgetedSource::new(replay) }, "leviathan");
        let machine = crate::Machine::read(&bounded);
        assert!(!machine.cpus.is_empty());
        assert_eq!(machine, crate::Machine::read(&Root::at(path).unwrap()));
    }
}
