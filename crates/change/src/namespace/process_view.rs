//! What a process sees: which processes, files and cgroups its numbers and paths mean.

use std::io;
use std::os::unix::fs::MetadataExt;

use serde::{Deserialize, Serialize};

use crate::namespace::Namespace;

/// The namespaces and the root directory of a process that changes the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessView {
    /// PID namespace: which process a number means.
    pub processes: Namespace,
    /// Time namespace, by which the kernel reports when a process began; `None` before Linux 5.6.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time: Option<Namespace>,
    /// Mount namespace.
    pub mounts: Namespace,
    /// Cgroup namespace: from where a path of a cgroup counts.
    pub cgroups: Namespace,
    /// The root directory: which file a path means.
    pub root: Directory,
}

/// A directory, by its place on its file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Directory {
    /// Number of the file system's device, which may be another one in each boot.
    pub device: u64,
    /// Inode number.
    pub inode: u64,
}

impl ProcessView {
    /// What this process sees.
    ///
    /// # Errors
    /// No procfs is mounted at /proc, or that of another PID namespace.
    pub(crate) fn of_own() -> io::Result<Self> {
        let root = std::fs::metadata("/")?;
        Ok(Self {
            processes: Namespace::of_processes()?,
            time: Namespace::of_kind("time").ok(),
            mounts: Namespace::of_kind("mnt")?,
            cgroups: Namespace::of_kind("cgroup")?,
            root: Directory { device: root.dev(), inode: root.ino() },
        })
    }

    /// Whether numbers of processes and their start times mean the same.
    pub fn sees_same_processes(&self, other: &Self) -> bool {
        let times = self.time.zip(other.time).is_none_or(|(a, b)| a.is(&b));
        times && self.processes.is(&other.processes)
    }

    /// Whether paths of cgroups mean the same.
    pub fn sees_same_cgroups(&self, other: &Self) -> bool {
        self.mounts.is(&other.mounts) && self.cgroups.is(&other.cgroups)
    }

    /// Whether paths of ordinary files mean the same; in another boot a device may have another number.
    pub fn sees_same_files(&self, other: &Self, same_boot: bool) -> bool {
        self.root.inode == other.root.inode && (!same_boot || self.root.device == other.root.device)
    }
}
