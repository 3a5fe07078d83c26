//! Who lives in a cgroup.

use super::set_apart::{Resident, Residents};
use crate::processes::cgroup_tree;
use crate::procfs::pid_stat;
use crate::{Notes, Root};

/// Most processes that are named.
const NAMED: usize = 8;

/// The processes of the cgroup `path`, whose directory is given, and of those below it.
pub(super) fn of(root: &Root, path: &str, directory: &str, notes: &mut Notes) -> Option<Residents> {
    let pids = cgroup_tree::processes(root, directory);
    let pids = notes.keep(format_args!("processes of cgroup {path}"), pids)?;
    let named =
        pids.iter().take(NAMED).filter_map(|pid| Some(Resident { pid: *pid, comm: comm(root, *pid)? }));
    Some(Residents { count: pids.len(), first: named.collect() })
}

/// `None` of a process that has ended meanwhile.
fn comm(root: &Root, pid: u32) -> Option<String> {
    let bytes = root.read_bytes(format!("/proc/{pid}/stat")).ok()?;
    // A name is any bytes.
    let text = String::from_utf8_lossy(&bytes);
    pid_stat::parse(&text).ok().map(|stat| stat.comm.to_string())
}
