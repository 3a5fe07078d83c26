//! The folder of one run: what QEMU reads, what the guest shares, removed when the run is forgotten.

use std::fs;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use machine::Fault;

use crate::cache::{self, Lock, storage};

/// Numbers the runs of this process.
static NEXT: AtomicU32 = AtomicU32::new(0);

/// A run's folder.
#[derive(Debug)]
pub(super) struct Folder {
    path: PathBuf,
    _lock: Lock,
}

impl Folder {
    /// Makes one, and removes those that processes left behind when they were killed.
    pub(super) fn new() -> Result<Self, Fault> {
        let runs = cache::folder()?.join("runs");
        cache::make(&runs)?;
        let _one_at_a_time = Lock::wait(&runs.join("lock"))?;
        sweep(&runs);
        let path = runs.join(format!("{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
        // What a guest leaves there is nobody else's to run or read.
        fs::DirBuilder::new().mode(0o700).create(&path).map_err(|e| storage(&path, &e))?;
        cache::make(&path.join("shared/files"))?;
        let lock = Lock::wait(&path.join("lock"))?;
        Ok(Self { path, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// A file that the guest sees too.
    pub(super) fn shared(&self, name: &str) -> PathBuf {
        self.path.join("shared").join(name)
    }

    pub(super) fn console(&self) -> PathBuf {
        self.path.join("console")
    }

    /// Where the command runs.
    pub(super) fn files(&self) -> PathBuf {
        self.shared("files")
    }

    pub(super) fn write(&self, name: &str, content: impl AsRef<[u8]>) -> Result<(), Fault> {
        let path = self.path.join(name);
        fs::write(&path, content).map_err(|e| storage(&path, &e))
    }

    /// Forgets a boot that hung.
    pub(super) fn clear(&self) {
        for name in ["up", "started", "listening", "failed", "stdout", "stderr", "exit"] {
            let _ = fs::remove_file(self.shared(name));
        }
        let _ = fs::remove_file(self.console());
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes folders whose lock nobody holds: their processes are gone.
fn sweep(runs: &Path) {
    let Ok(entries) = fs::read_dir(runs) else { return };
    for path in entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()) {
        if let Ok(Some(_)) = Lock::attempt(&path.join("lock")) {
            let _ = fs::remove_dir_all(&path);
        }
    }
}
