//! The readings of a thread at one instant.

use std::sync::Arc;

use machine::ThreadRef;

/// Readings of one thread since it began. What a file did not show is `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ThreadReading {
    /// Which thread, with its start time.
    pub thread: ThreadRef,
    /// Name.
    pub comm: Arc<str>,
    /// CPU time in user mode, ticks of USER_HZ (stat field 14).
    pub user_ticks: Option<u64>,
    /// CPU time in the kernel, ticks of USER_HZ (stat field 15).
    pub system_ticks: Option<u64>,
    /// CPU that it last ran on (stat field 39).
    pub processor: Option<u32>,
    /// Time on a CPU, ns (schedstat).
    pub on_cpu_ns: Option<u64>,
    /// Time runnable and waiting, ns (schedstat).
    pub waited_ns: Option<u64>,
    /// Context switches because it waited for something (sched, else status).
    pub voluntary_switches: Option<u64>,
    /// Context switches because another task was to run (sched, else status).
    pub involuntary_switches: Option<u64>,
    /// Migrations to another CPU (sched).
    pub migrations: Option<u64>,
    /// Where it may run, list form (status).
    pub allowed: Option<Arc<str>>,
}
