//! What this process may use: its own affinity, its cgroups' CPU and node sets, its CPU quota.

pub mod cgroups;
pub mod memory_use;
pub mod mounts;
pub mod quotas;

use serde::{Deserialize, Serialize};

use crate::{CpuSet, Notes, ReadError, Root};
use cgroups::{Cgroup, MemoryLimit, Quota};
use mounts::{Mount, Mounts};

/// Limits of the process that read the machine.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Limits {
    /// CPUs that it may run on (`Cpus_allowed_list` of /proc/self/status).
    pub affinity: Option<CpuSet>,
    /// Nodes that it may take memory from (`Mems_allowed_list`).
    pub memory_nodes: Option<CpuSet>,
    /// CPUs that its cgroup's cpuset allows.
    pub cpuset_cpus: Option<CpuSet>,
    /// Nodes that its cgroup's cpuset allows.
    pub cpuset_nodes: Option<CpuSet>,
    /// The tightest memory limit of its cgroup and those above; `None` without one.
    pub memory_limit: Option<MemoryLimit>,
    /// The tightest CPU bandwidth limit of its cgroup and those above; `None` without one, or see `missing`.
    pub cpu_quota: Option<Quota>,
    /// Its cgroups, one for each hierarchy.
    pub cgroups: Vec<Cgroup>,
}

impl Limits {
    /// The CPUs that both affinity and cpuset allow; `None` when neither is known.
    pub fn allowed(&self) -> Option<CpuSet> {
        match (&self.affinity, &self.cpuset_cpus) {
            (Some(affinity), Some(cpuset)) => Some(affinity.intersection(cpuset)),
            (one, other) => one.as_ref().or(other.as_ref()).cloned(),
        }
    }
}

/// Reads all limits.
pub(crate) fn read(root: &Root, mounts: &Mounts, notes: &mut Notes) -> Limits {
    let path = "/proc/self/status";
    let status = notes.keep("affinity of this process", root.read(path));
    let mut list = |fact: &str, key: &str| {
        let set = status_list(status.as_deref()?, key);
        notes.keep(fact, set.map_err(|why| ReadError::malformed(path, why)))
    };
    let affinity = list("affinity of this process", "Cpus_allowed_list");
    let memory_nodes = list("memory nodes of this process", "Mems_allowed_list");
    let mut cgroups = cgroups::read(root, mounts, "self", "this process", notes);
    let (cpuset_cpus, cpuset_nodes) = cgroups::cpuset(root, &mut cgroups, "the cpuset", notes);
    let cpu_quota = cgroups::cpu_quota(root, &cgroups, "CPU quota", notes);
    let memory_limit = cgroups::memory_limit(root, &cgroups, notes);
    Limits { affinity, memory_nodes, cpuset_cpus, cpuset_nodes, memory_limit, cpu_quota, cgroups }
}

/// Which versions of cgroups are mounted: `v1`, `v2`, or `hybrid`; `None` without any.
pub(crate) fn cgroup_mode(mounts: &[Mount]) -> Option<String> {
    // v1 hierarchies without a controller (systemd's own) beside v2 are no v1.
    let controllers = ["cpu", "cpuset", "memory", "cpuacct", "pids"];
    let v1 = mounts.iter().any(|mount| controllers.iter().any(|controller| mount.is_v1_of(controller)));
    let mode = match (v1, mounts.iter().any(Mount::is_v2)) {
        (true, true) => "hybrid",
        (true, false) => "v1",
        (false, true) => "v2",
        (false, false) => return None,
    };
    Some(mode.to_string())
}

fn status_list(text: &str, key: &str) -> Result<CpuSet, String> {
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(':'));
    CpuSet::from_list(line.ok_or_else(|| format!("it has no line {key}"))?).map_err(|e| e.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    fn of(tree: Tree) -> (Limits, Vec<String>) {
        let mut notes = Notes::new();
        let root = Root::from_tree(tree);
        let limits = read(&root, &mounts::read(&root), &mut notes);
        (limits, notes.into_vec().into_iter().map(|m| m.fact).collect())
    }

    #[test]
    fn affinity_and_cpuset_are_both_respected() {
        let tree = Tree::new()
            .file(
                "/proc/self/status",
                "Name:\tx\nCpus_allowed:\tff\nCpus_allowed_list:\t0-7\nMems_allowed_list:\t0\n",
            )
            .file("/proc/self/cgroup", "0::/a/b\n")
            .file("/proc/self/mountinfo", "31 23 0:28 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
            .file("/sys/fs/cgroup/a/cpuset.cpus.effective", "4-9\n")
            .file("/sys/fs/cgroup/a/cpuset.mems.effective", "0\n")
            .file("/sys/fs/cgroup/a/b/cpu.max", "max 100000\n")
            .file("/sys/fs/cgroup/a/cpu.max", "150000 100000\n");
        let (limits, missing) = of(tree);
        assert_eq!(limits.allowed().unwrap().to_list(), "4-7");
        assert_eq!(limits.cpu_quota.unwrap().cpus, 1.5);
        assert_eq!(missing, Vec::<String>::new());
    }

    #[test]
    fn malformed_and_absent_limits_are_missing() {
        let (limits, missing) = of(Tree::new().file("/proc/self/status", "Cpus_allowed_list:\t0-\n"));
        assert_eq!(limits.allowed(), None);
        assert_eq!(missing[..2], ["affinity of this process", "memory nodes of this process"]);
        assert!(missing.contains(&"cgroups of this process".to_string()));
    }
}
