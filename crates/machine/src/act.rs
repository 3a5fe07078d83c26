//! Acts: the primitive writes that a knob may ask for. Data only; `change::Hand` alone performs them.
//!
//! They stand in this crate, left of `change`, because knobs describe themselves here and must be able to name
//! the writes they ask for (see docs/journal/0001-acts-are-data-in-machine.md).

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::CpuSet;

/// One process, safe against reuse of its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProcessRef {
    /// Process number (thread group).
    pub pid: u32,
    /// Start time in clock ticks since boot: field 22 of /proc/PID/stat. Tells a reused number apart.
    pub start_time_ticks: u64,
}

/// One thread, safe against reuse of its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ThreadRef {
    /// The process it belongs to.
    pub pid: u32,
    /// Thread number; equals `pid` for the first thread.
    pub tid: u32,
    /// Start time in clock ticks since boot: field 22 of /proc/PID/task/TID/stat.
    pub start_time_ticks: u64,
}

/// A scheduling policy with its parameters (sched(7)).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "policy", rename_all = "kebab-case")]
pub enum Scheduling {
    /// SCHED_OTHER with a nice value, -20 to 19.
    Other {
        /// Nice value.
        nice: i32,
    },
    /// SCHED_BATCH with a nice value, -20 to 19.
    Batch {
        /// Nice value.
        nice: i32,
    },
    /// SCHED_IDLE.
    Idle,
    /// SCHED_FIFO with a real-time priority, 1 to 99.
    Fifo {
        /// Real-time priority.
        priority: i32,
    },
    /// SCHED_RR with a real-time priority, 1 to 99.
    RoundRobin {
        /// Real-time priority.
        priority: i32,
    },
}

/// One primitive write. A small closed set: what is not here cannot be done to the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "act", rename_all = "kebab-case")]
pub enum Act {
    /// Writes `value` to a file of /proc, /sys or a cgroup; undone by writing the old content back.
    WriteFile {
        /// Absolute path, as seen in the namespace.
        path: PathBuf,
        /// The text to write, in the form that the file takes.
        value: String,
        /// Name of a network namespace (/run/netns/NAME) whose /sys is meant; none for our own.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        netns: Option<String>,
    },
    /// Sets a thread's CPU affinity (sched_setaffinity(2)); undone by setting the old one.
    SetAffinity {
        /// The thread.
        thread: ThreadRef,
        /// Where it may run.
        cpus: CpuSet,
    },
    /// Sets a thread's scheduling policy (sched_setscheduler(2), setpriority(2)); undone by setting the old one.
    SetScheduling {
        /// The thread.
        thread: ThreadRef,
        /// The policy and its parameters.
        scheduling: Scheduling,
    },
    /// Makes a cgroup directory; undone by removing it once it is empty.
    CreateCgroup {
        /// Absolute path of the directory.
        path: PathBuf,
    },
    /// Moves a process (all its threads) into a cgroup; undone by moving it back.
    JoinCgroup {
        /// The process.
        process: ProcessRef,
        /// Absolute path of the cgroup directory.
        path: PathBuf,
    },
    /// Starts a process group of our own; undone by ending it if it still runs.
    Launch {
        /// Program and arguments.
        argv: Vec<String>,
    },
}
