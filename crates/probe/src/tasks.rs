//! Threads of processes.

use machine::Root;

/// All threads of these processes, as /proc lists them.
pub(crate) fn threads(root: &Root, pids: &[u32]) -> Vec<u32> {
    let of = |pid: &u32| root.list(format!("/proc/{pid}/task")).unwrap_or_default();
    pids.iter().flat_map(of).filter_map(|name| name.parse().ok()).collect()
}
