//! The services that systemd runs.

use super::{cgroup_tree, unescaped};
use crate::limits::mounts;
use crate::{Fault, Root};

/// Whether systemd runs this system (sd_booted(3)).
pub(crate) fn has_systemd(root: &Root) -> bool {
    root.list("/run/systemd/system").is_ok()
}

/// Names of the system's services that run, sorted; those of users' own managers are not among them. None where systemd does not
/// run the system.
///
/// # Errors
/// The mounts cannot be read.
pub fn services(root: &Root) -> Result<Vec<String>, Fault> {
    if !has_systemd(root) {
        return Ok(Vec::new());
    }
    let mounts = match mounts::read(root) {
        Err(e) if e.is_absent() => return Ok(Vec::new()),
        mounts => cgroup_tree::trees(mounts?),
    };
    let mut services = Vec::new();
    for mount in cgroup_tree::managed(&mounts) {
        cgroup_tree::walk(root, mount, |_, name| {
            let of_a_user = name.starts_with("user@");
            if name.ends_with(".service") && !of_a_user {
                services.push(unescaped(name).to_string());
            }
            name.ends_with(".slice")
        });
    }
    services.sort();
    services.dedup();
    Ok(services)
}
