//! What to launch, and how.

use std::path::PathBuf;

use machine::{CpuSet, MemoryPolicy, Scheduling};
use serde::{Deserialize, Serialize};

/// Where the standard output of a launched process goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Stdout {
    /// To the log, with standard error.
    #[default]
    Log,
    /// To a pipe: [`Launched::take_stdout`](crate::Launched::take_stdout) returns its reading end.
    Piped,
}

/// A process to start. Standard error goes to the log.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Launch {
    /// Program and arguments; a program without a slash is searched for in PATH.
    pub argv: Vec<String>,
    /// Variables to add to our own environment, or to replace in it. No ledger has them.
    pub env: Vec<(String, String)>,
    /// What it reads from standard input, which no ledger and no list of processes has; empty: /dev/null.
    pub input: Vec<u8>,
    /// Folder to start in; `None`: ours.
    pub cwd: Option<PathBuf>,
    /// Network namespace (/run/netns/NAME); `None`: ours. Its /sys stays ours.
    pub netns: Option<String>,
    /// CPUs of the process, set before it executes its program, so that they hold for its first memory and all of its
    /// threads; `None`: ours.
    pub cpus: Option<CpuSet>,
    /// Scheduling policy; `None`: ours.
    pub scheduling: Option<Scheduling>,
    /// NUMA policy of its memory (set_mempolicy(2)), set before it executes its program, which keeps it; `None`: ours.
    pub memory: Option<MemoryPolicy>,
    /// Whether to confine it to `cpus` by a cgroup too, so that it cannot leave them with sched_setaffinity(2).
    pub cpuset_cgroup: bool,
    /// Limit on the memory of the process and its descendants, by a cgroup; `None`: ours.
    pub memory_limit: Option<MemoryLimit>,
    /// File that output is appended to.
    pub log: PathBuf,
    /// Where standard output goes.
    pub stdout: Stdout,
}

/// Limit on the memory of a process and its descendants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MemoryLimit {
    /// Memory, bytes. What exceeds it is swapped, or the kernel kills a process.
    pub memory_bytes: u64,
    /// Swap in addition to that, bytes; `None`: all there is.
    pub swap_bytes: Option<u64>,
}
