//! Cpusets of cgroup v1 without load balancing (Documentation/admin-guide/cgroup-v1/cpusets.rst, "What is sched_load_balance?";
//! kernel/cgroup/cpuset.c, generate_sched_domains).
//!
//! While the top cpuset balances, all CPUs are balanced, whatever the ones below it say, and exclusive ones (`cpu_exclusive`) too.
//! When it does not, those CPUs are isolated that no cpuset with load balancing has.

use super::residents;
use super::set_apart::{SetApart, SetBy};
use crate::limits::mounts::Mount;
use crate::processes::cgroup_tree;
use crate::{CpuSet, Notes, ReadError, Root};

/// Most cgroups that are looked at.
const MOST: usize = 4096;

/// A cpuset without load balancing.
struct Off {
    path: String,
    directory: String,
    cpus: CpuSet,
}

/// Reads the CPUs that cpusets took out of balancing, except those that are in `apart` already; `fact` names them where they cannot be read.
pub(super) fn read(
    root: &Root,
    mount: &Mount,
    apart: &CpuSet,
    fact: &str,
    notes: &mut Notes,
) -> Vec<SetApart> {
    match off(root, mount) {
        Ok(None) => Vec::new(),
        Ok(Some((off, isolated))) => sets(root, off, isolated.difference(apart), notes),
        Err(e) => {
            notes.missing(fact, e);
            Vec::new()
        }
    }
}

/// The cpusets without load balancing, parents first, and the CPUs that none balances; `None` where the top balances all.
fn off(root: &Root, mount: &Mount) -> Result<Option<(Vec<Off>, CpuSet)>, ReadError> {
    let files = Files::of(mount);
    if files.balances(root, &mount.point)? {
        return Ok(None);
    }
    // A container can see its own part only, and those above it may balance. The top alone has a release_agent.
    let is_top = mount.kind == "cpuset" || root.exists(format!("{}/release_agent", mount.point));
    if mount.root != "/" || !is_top {
        let why = "this container sees its own part of the cpusets only - run outside of it";
        return Err(ReadError::absent(&mount.point, why));
    }
    let all = files.cpus(root, &mount.point)?;
    let mut off = vec![Off { path: "/".into(), directory: mount.point.clone(), cpus: all.clone() }];
    let (mut balanced, mut failed, mut entered) = (CpuSet::new(), None, 0usize);
    cgroup_tree::walk(root, mount, |path, _| {
        entered += 1;
        if entered > MOST || failed.is_some() {
            return false;
        }
        let directory = cgroup_tree::directory(mount, path);
        match files.both(root, &directory) {
            Ok((false, cpus)) => off.push(Off { path: path.to_string(), directory, cpus }),
            // Those below have a part of its CPUs.
            Ok((true, cpus)) => {
                balanced.extend(cpus.iter());
                return false;
            }
            Err(e) if e.is_absent() => return false,
            Err(e) => failed = Some(e),
        }
        true
    });
    if entered > MOST {
        let why = format!("there are more than {MOST} cpusets: which CPUs are balanced is not known");
        return Err(ReadError::new(&mount.point, crate::Cause::Other, why));
    }
    match failed {
        Some(e) => Err(e),
        None => Ok(Some((off, all.difference(&balanced)))),
    }
}

/// Each isolated CPU with the smallest cpuset that has it.
fn sets(root: &Root, off: Vec<Off>, isolated: CpuSet, notes: &mut Notes) -> Vec<SetApart> {
    let mut left = isolated;
    let mut sets = Vec::new();
    for Off { path, directory, cpus } in off.into_iter().rev() {
        let own = cpus.intersection(&left);
        if own.is_empty() {
            continue;
        }
        left = left.difference(&own);
        // All processes of the machine are below the top.
        let residents = if path == "/" { None } else { residents::of(root, &path, &directory, notes) };
        sets.push(SetApart { by: SetBy::LoadBalanceOff { cgroup: path }, cpus: own, residents });
    }
    sets.reverse();
    sets
}

/// How the files of the hierarchy are called.
struct Files {
    prefix: &'static str,
}

impl Files {
    fn of(mount: &Mount) -> Self {
        let bare = mount.kind == "cpuset" || mount.options.iter().any(|option| option == "noprefix");
        Self { prefix: if bare { "" } else { "cpuset." } }
    }

    fn balances(&self, root: &Root, directory: &str) -> Result<bool, ReadError> {
        let file = format!("{directory}/{}sched_load_balance", self.prefix);
        match root.line(&file)?.trim() {
            "1" => Ok(true),
            "0" => Ok(false),
            _ => Err(ReadError::malformed(&file, "it is neither 0 nor 1")),
        }
    }

    /// The CPUs in force; before Linux 3.17 those that were set.
    fn cpus(&self, root: &Root, directory: &str) -> Result<CpuSet, ReadError> {
        match root.cpu_list(format!("{directory}/{}effective_cpus", self.prefix)) {
            Err(e) if e.is_absent() => root.cpu_list(format!("{directory}/{}cpus", self.prefix)),
            answer => answer,
        }
    }

    fn both(&self, root: &Root, directory: &str) -> Result<(bool, CpuSet), ReadError> {
        Ok((self.balances(root, directory)?, self.cpus(root, directory)?))
    }
}
