//! What to launch, and how.

use std::path::PathBuf;

use machine::{CpuSet, MemoryPolicy, Scheduling};
use serde::{Deserialize, Serialize};

/// Where a launched process's standard output goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stdout {
    /// To the log, with standard error.
    #[default]
    Log,
    /// To a pipe that [`Launched::take_stdout`](crate::Launched::take_stdout) gives.
    Piped,
}

/// A process to start. Standard input is /dev/null; standard error goes to the log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Launch {
    /// Program and arguments; a program without a slash is searched in PATH.
    pub argv: Vec<String>,
    /// Variables to add to our own environment, or to replace in it.
    pub env: Vec<(String, String)>,
    /// Folder to start in; `None`: ours.
    pub cwd: Option<PathBuf>,
    /// Network namespace (/run/netns/NAME); `None`: ours. Its /sys stays ours.
    pub netns: Option<String>,
    /// CPUs of the process before it executes, so that its first touch of memory and all later threads follow;
    /// `None`: those that we may use.
    pub cpus: Option<CpuSet>,
    /// Scheduling policy; `None`: ours.
    pub scheduling: Option<Scheduling>,
    /// Where its memory comes from, before it executes (set_mempolicy(2), which a program keeps and its threads inherit);
    /// `None`: as for us.
    pub memory: Option<MemoryPolicy>,
    /// Whether to confine it to `cpus` by a cgroup too, so that it cannot leave by setting its own affinity.
    pub cpuset_cgroup: bool,
    /// How much memory it and all that it starts may have, by a cgroup; `None`: as for us.
    pub memory_limit: Option<MemoryLimit>,
    /// File that output is appended to.
    pub log: PathBuf,
    /// Where standard output goes.
    pub stdout: Stdout,
}

/// How much memory a process tree may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryLimit {
    /// Memory, bytes: what is beyond it is swapped, or the kernel ends a process for it.
    pub memory_bytes: u64,
    /// Swap beside that, bytes; `None`: as much as there is.
    pub swap_bytes: Option<u64>,
}
