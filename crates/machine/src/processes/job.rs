//! Jobs of Slurm on this node, by the cgroups in which slurmstepd keeps them: `slurm/uid_UID/job_N` below each hierarchy of version 1,
//! `system.slice/slurmstepd.scope/job_N` in version 2 (src/plugins/cgroup of Slurm).

use std::collections::{BTreeMap, BTreeSet};

use super::cgroup_tree;
use super::unit_name::is_slice;
use crate::limits::mounts::Mount;
use crate::{ReadError, Root};

/// What slurmstepd is called, which only looks after the steps of a job.
const SUPERVISOR: &str = "slurmstepd";

/// The step that every job has for what is started beside it: one process sleeps there.
const EXTERN_STEP: &str = "step_extern";

/// The directories of each job, by its number.
pub(super) fn running(root: &Root, mounts: &[Mount]) -> BTreeMap<u32, Vec<String>> {
    let mut jobs: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    // Slurm keeps none in the hierarchy of systemd's own, but in those of its controllers.
    for mount in mounts {
        cgroup_tree::walk(root, mount, |path, name| {
            if let Some(job) = number(name).filter(|_| is_of_slurm(path)) {
                jobs.entry(job).or_default().push(cgroup_tree::directory(mount, path));
                return false;
            }
            may_hold_jobs(path, name)
        });
    }
    jobs
}

/// The number of a job that is asked for: `job:4711` or `job_4711`.
pub(super) fn asked_for(asked: &str) -> Option<u32> {
    asked.strip_prefix("job:").map_or_else(|| number(asked), plain)
}

/// The processes of a job, and the directory of the cgroup that holds them. Those of the program come first: whoever looks at one process of
/// a server looks at the first.
pub(super) fn processes(root: &Root, directories: &[String]) -> Result<(Vec<u32>, String), ReadError> {
    let (mut pids, directory) = cgroup_tree::first_with_processes(root, directories)?;
    let beside = cgroup_tree::processes(root, &format!("{directory}/{EXTERN_STEP}")).unwrap_or_default();
    let beside: BTreeSet<u32> = beside.into_iter().collect();
    let is_supervisor =
        |pid: &u32| root.read(format!("/proc/{pid}/comm")).is_ok_and(|comm| comm.trim_end() == SUPERVISOR);
    pids.sort_by_key(|pid| beside.contains(pid) || is_supervisor(pid));
    Ok((pids, directory))
}

/// `job_4711`
fn number(name: &str) -> Option<u32> {
    name.strip_prefix("job_").and_then(plain)
}

/// `4711`, without a sign.
fn plain(digits: &str) -> Option<u32> {
    digits.parse().ok().filter(|_| digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Whether a cgroup lies in a tree of Slurm's: others may call theirs by the same word.
fn is_of_slurm(path: &str) -> bool {
    path.split('/').any(is_top)
}

/// `slurm`, with several slurmd on a node `slurm_NODE`; in version 2 a scope, which may be called by the node as well.
fn is_top(name: &str) -> bool {
    name == "slurm" || name.starts_with("slurm_") || name.ends_with("slurmstepd.scope")
}

/// Slices down to Slurm's tree, and the cgroups of users within it.
fn may_hold_jobs(path: &str, name: &str) -> bool {
    is_slice(name) || is_top(name) || is_of_slurm(path) && name.starts_with("uid_")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;
    use crate::limits::mounts;

    fn jobs(tree: Tree) -> BTreeMap<u32, Vec<String>> {
        let root = Root::from_tree(tree);
        let mounts = cgroup_tree::trees(mounts::read(&root).unwrap());
        running(&root, &mounts)
    }

    #[test]
    fn jobs_of_both_versions_and_nobody_else() {
        let v1 = Tree::new()
            .file(
                "/proc/self/mountinfo",
                "1 0 0:1 / /c/systemd rw - cgroup c rw,name=systemd\n2 0 0:2 / /c/cpuset rw - cgroup c rw,cpuset\n",
            )
            .file("/c/cpuset/slurm/uid_1000/job_4711/step_0/cgroup.procs", "7\n")
            .file("/c/cpuset/slurm_n2/uid_1000/job_4712/cgroup.procs", "")
            .file("/c/cpuset/other/job_4713/cgroup.procs", "")
            .file("/c/cpuset/slurm/uid_1000/job_x/cgroup.procs", "");
        let found = jobs(v1);
        assert_eq!(found.keys().copied().collect::<Vec<u32>>(), [4711, 4712]);
        assert_eq!(found[&4711], ["/c/cpuset/slurm/uid_1000/job_4711"]);
        let v2 = Tree::new()
            .file("/proc/self/mountinfo", "1 0 0:1 / /sys/fs/cgroup rw - cgroup2 c rw\n")
            .file("/sys/fs/cgroup/system.slice/slurmstepd.scope/job_4711/step_0/user/cgroup.procs", "7\n")
            .file("/sys/fs/cgroup/system.slice/cron.service/job_9/cgroup.procs", "8\n");
        assert_eq!(jobs(v2).keys().copied().collect::<Vec<u32>>(), [4711]);
    }

    #[test]
    fn numbers_of_jobs() {
        assert_eq!((asked_for("job:4711"), asked_for("job_4711")), (Some(4711), Some(4711)));
        for asked in ["4711", "job:", "job:4711_3", "job:-1", "job:99999999999", "job4711"] {
            assert_eq!(asked_for(asked), None, "{asked}");
        }
    }

    #[test]
    fn the_program_comes_before_what_only_looks_after_it() {
        let job = "/c/slurm/uid_1/job_5";
        let root = Root::from_tree(
            Tree::new()
                .file(&format!("{job}/cgroup.procs"), "")
                .file(&format!("{job}/{EXTERN_STEP}/cgroup.procs"), "10\n")
                .file(&format!("{job}/step_0/cgroup.procs"), "20\n21\n")
                .file("/proc/20/comm", "slurmstepd\n")
                .file("/proc/21/comm", "simulate\n"),
        );
        let (pids, directory) = processes(&root, &[job.to_string()]).unwrap();
        assert_eq!((pids, directory.as_str()), (vec![21, 10, 20], job));
    }
}
