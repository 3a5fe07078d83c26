//! The sockets that a process has open.

use std::collections::BTreeSet;

use crate::{ReadError, Root};

/// Inodes of the sockets of a process, as /proc/PID/net/tcp and the like name them; none of one that has ended.
///
/// Source: /proc/PID/fd, of which each link reads `socket:[INODE]`.
///
/// # Errors
/// It is another user's, and this process is not root.
pub fn sockets(root: &Root, pid: u32) -> Result<BTreeSet<u64>, ReadError> {
    let folder = format!("/proc/{pid}/fd");
    let files = match root.list(&folder) {
        Err(e) if e.is_absent() => return Ok(BTreeSet::new()),
        files => files?,
    };
    let inode = |file: &String| {
        let link = root.link(format!("{folder}/{file}")).ok()?;
        link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok()
    };
    Ok(files.iter().filter_map(inode).collect())
}
