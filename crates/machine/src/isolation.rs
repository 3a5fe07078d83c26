//! CPUs that the scheduler balances apart, or not at all: by the kernel's command line (`isolcpus=`), by partitions of cpusets
//! (cgroup v2), by cpusets without load balancing (cgroup v1).
//!
//! /sys/devices/system/cpu/isolated is the list of the command line; newer kernels add isolated partitions to it. So what sets CPUs
//! apart at run time is read from the cpusets themselves.

mod load_balance;
mod partitions;
mod residents;
mod set_apart;

pub use set_apart::{
    Domain, InvalidPartition, Isolation, PartitionKind, Resident, Residents, SetApart, SetBy,
};

use crate::limits::mounts::{Mount, Mounts};
use crate::{CpuSet, Notes, Root};
use partitions::Partitions;

const FACT: &str = "CPUs that cpusets isolate";

/// Reads what sets CPUs apart. `listed` is the kernel's own list of isolated CPUs, and `at_boot` those of them that its command line
/// asks for.
pub(crate) fn read(
    root: &Root,
    mounts: &Mounts,
    listed: Option<&CpuSet>,
    at_boot: &CpuSet,
    notes: &mut Notes,
) -> Isolation {
    let known = notes.keep(FACT, mounts.as_deref());
    if known.is_some_and(|mounts| mounts.is_empty()) && is_in_a_cgroup(root) {
        notes.missing(FACT, "no hierarchy of cgroups is mounted where this process can see it");
    }
    let (mounts, listed) = (known.unwrap_or_default(), listed.cloned().unwrap_or_default());
    let by_partitions = v2_of_cpusets(root, mounts).map(|mount| partitions::read(root, mount, FACT, notes));
    let Partitions { isolated, domains, invalid, listed: by_top, held } = by_partitions.unwrap_or_default();
    let v1 = whole(mounts, is_v1);
    let by_cpusets =
        v1.map(|mount| load_balance::read(root, mount, &listed, FACT, notes)).unwrap_or_default();

    let apart = |by, cpus| SetApart { by, cpus, residents: None };
    let unseen = listed.union(&by_top).difference(at_boot).difference(&held);
    let mut sets = vec![apart(SetBy::Boot, at_boot.clone())];
    sets.extend(isolated);
    sets.extend(by_cpusets);
    sets.push(apart(SetBy::Unseen, unseen));
    sets.retain(|set| !set.cpus.is_empty());
    Isolation { sets, domains, invalid }
}

/// Whether there may be a partition of cpusets (cgroup v2): one is there, in force or not, or what would show it cannot be read.
pub fn may_have_partitions(root: &Root, mounts: &[Mount]) -> bool {
    let Some(mount) = v2_of_cpusets(root, mounts) else {
        return !is_in_version_1(root, mounts) && is_in_a_cgroup(root);
    };
    let mut notes = Notes::new();
    let Partitions { isolated, domains, invalid, .. } = partitions::read(root, mount, FACT, &mut notes);
    let is_seen_whole = notes.into_vec().is_empty();
    !(is_seen_whole && isolated.is_empty() && domains.is_empty() && invalid.is_empty())
}

/// The hierarchy of version 2, unless cpusets are in one of version 1: then it has no partitions, whatever of it can be seen.
fn v2_of_cpusets<'a>(root: &Root, mounts: &'a [Mount]) -> Option<&'a Mount> {
    whole(mounts, Mount::is_v2).filter(|_| !is_in_version_1(root, mounts))
}

/// The mount of a hierarchy that shows most of it: a bind mount may show a part beside the one that shows all.
fn whole(mounts: &[Mount], wanted: fn(&Mount) -> bool) -> Option<&Mount> {
    mounts.iter().filter(|mount| wanted(mount)).min_by_key(|mount| mount.root != "/")
}

fn is_v1(mount: &Mount) -> bool {
    mount.is_v1_of("cpuset") || mount.kind == "cpuset"
}

/// Whether the cpusets of the machine are in a hierarchy of version 1, which a container need not have mounted.
fn is_in_version_1(root: &Root, mounts: &[Mount]) -> bool {
    let names_it = |line: &str| {
        let controllers = line.split(':').nth(1);
        controllers.is_some_and(|controllers| controllers.split(',').any(|name| name == "cpuset"))
    };
    mounts.iter().any(is_v1) || root.read("/proc/self/cgroup").is_ok_and(|text| text.lines().any(names_it))
}

/// Whether this process is in a cgroup below the top of any hierarchy.
fn is_in_a_cgroup(root: &Root) -> bool {
    root.read("/proc/self/cgroup").is_ok_and(|text| text.lines().any(|line| !line.trim().ends_with(":/")))
}

#[cfg(test)]
mod tests;
