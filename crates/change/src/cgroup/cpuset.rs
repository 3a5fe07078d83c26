//! What confines a launched process to its CPUs, so that it cannot leave by setting its own affinity.

use std::path::Path;

use machine::{CpuSet, Fault};

use super::placement::{self, Place};
use crate::executor::Hand;
use crate::kernel::Kernel;

/// The controller, and what to do without it.
pub const WANTED: (&str, &str) = (
    "cpuset",
    "mount a cgroup hierarchy with cpuset, or leave the cpuset cgroup out: the affinity is set all the same",
);

/// Gives the new cgroup `path` those CPUs.
pub fn confine(hand: &mut Hand, place: &Place, path: &Path, cpus: &CpuSet) -> Result<(), Fault> {
    let remedy = "choose from the CPUs of its parent cgroup";
    // A version 1 hierarchy mounted with `noprefix` names its files differently.
    let prefixed = !place.v1 || hand.kernel.read_file(&place.parent.join("cpuset.mems"), None).is_ok();
    let prefix = if prefixed { "cpuset." } else { "" };
    if place.v1 {
        // Version 1 leaves a new cpuset empty: nodes must be written too.
        let nodes = nodes(&*hand.kernel, &place.parent, prefix)?;
        placement::write(hand, path.join(format!("{prefix}mems")), nodes, remedy)?;
    }
    placement::write(hand, path.join(format!("{prefix}cpus")), cpus.to_list(), remedy)
}

/// Memory nodes of the parent: what is in force where the kernel reports it, else what is asked for.
fn nodes(kernel: &dyn Kernel, parent: &Path, prefix: &str) -> Result<String, Fault> {
    let file = |name: &str| parent.join(format!("{prefix}{name}"));
    let effective = kernel.read_file(&file("effective_mems"), None);
    let text = effective.or_else(|_| kernel.read_file(&file("mems"), None));
    let text = text.map_err(|e| Fault::io(file("mems").display(), &e, "leave the cpuset cgroup out"))?;
    Ok(text.trim().to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EmulatedKernel;

    #[test]
    fn nodes_are_those_in_force_where_the_kernel_reports_them() {
        let kernel = EmulatedKernel::new();
        let parent = Path::new("/sys/fs/cgroup/cpuset/mine");
        kernel.add_file(parent.join("cpuset.mems"), "0-1\n");
        assert_eq!(nodes(&kernel, parent, "cpuset.").unwrap(), "0-1");
        kernel.add_file(parent.join("cpuset.effective_mems"), "0\n");
        assert_eq!(nodes(&kernel, parent, "cpuset.").unwrap(), "0");
        assert!(nodes(&kernel, parent, "").is_err());
    }
}
