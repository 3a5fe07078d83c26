//! Processes and threads, safe against reuse of their numbers.

use serde::{Deserialize, Serialize};

/// One process, safe against reuse of its number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ProcessRef {
    /// Process number (thread group).
    pub pid: u32,
    /// Start time in clock ticks since boot: field 22 of /proc/PID/stat. Detects a reused number.
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
