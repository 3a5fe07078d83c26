//! Which CPUs a cgroup may use.

use crate::knobs::{About, Knob, MaySet, OwnerId, Target, cpus, no_such};
use crate::limits::mounts;
use crate::{Act, Class, Fault, Root};

/// The knob.
#[derive(Debug)]
pub struct Cpuset;

static ABOUT: About = About {
    id: "cpuset",
    title: "CPUs that the processes of a cgroup may use",
    docs: "A limit that processes cannot leave by setting their own affinity. It holds for all that is in the cgroup and \
           below it, also for what is started later.",
    unit: "CPU list; empty: those of the parent (version 2 only)",
    scope: "one cgroup directory with the cpuset controller, by its absolute path",
    owner: "systemd (AllowedCPUs=, which a daemon-reload writes again), container engines, kubelet, NRI policies \
            (balloons, topology-aware), katalyst, koordinator, libvirt, slurm, numad, intel-lpmd",
    owners: &[
        OwnerId::Systemd,
        OwnerId::Docker,
        OwnerId::Containerd,
        OwnerId::CriO,
        OwnerId::Kubelet,
        OwnerId::NriResourcePolicy,
        OwnerId::KatalystAgent,
        OwnerId::Koordlet,
        OwnerId::Libvirtd,
        OwnerId::Virtqemud,
        OwnerId::Slurmd,
        OwnerId::Numad,
        OwnerId::IntelLpmd,
    ],
    risk: "Kernels before 6.2 forget the affinities that threads had set themselves when the set changes. Version 1 \
           refuses an empty set while there are processes.",
    may_set: MaySet::Root,
    source: "cpuset(7); Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/cpusets.rst",
};

/// Deeper trees are not walked: a cgroup of a container in a container lies at 8 or so.
const DEEPEST: usize = 16;

impl Knob for Cpuset {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn targets(&self, root: &Root) -> Result<Vec<Target>, Fault> {
        cgroups_with(root, "cpus")
    }

    fn read(&self, root: &Root, target: &str) -> Result<String, Fault> {
        Ok(root.cpu_list(existing(root, &ABOUT, target, "cpus")?)?.to_list())
    }

    fn change(&self, root: &Root, target: &str, value: &str) -> Result<Vec<Act>, Fault> {
        let path = existing(root, &ABOUT, target, "cpus")?;
        let cpus = cpus(root, &ABOUT, target, value)?;
        if cpus.is_empty() {
            may_be_empty(root, &ABOUT, target, "name at least one CPU")?;
        }
        Ok(vec![Act::WriteFile { path: path.into(), value: cpus.to_list(), netns: None }])
    }
}

/// The cgroups that have the file `cpuset.FILE`; those at the top, which are the whole machine, cannot be set.
pub(in crate::knobs) fn cgroups_with(root: &Root, file: &str) -> Result<Vec<Target>, Fault> {
    let mounts = match mounts::read(root) {
        Err(e) if e.is_absent() => return Ok(Vec::new()),
        mounts => mounts?,
    };
    let mut targets = Vec::new();
    for mount in mounts.iter().filter(|mount| mount.is_v2() || mount.is_v1_of("cpuset")) {
        walk(root, &mount.point, file, DEEPEST, &mut targets);
    }
    Ok(targets)
}

/// Adds the cgroups below a directory.
fn walk(root: &Root, directory: &str, file: &str, depth: usize, targets: &mut Vec<Target>) {
    // Of the many entries only folders that are cgroups have this file; version 1 has it everywhere.
    let is_cgroup =
        |path: &String| root.exists(format!("{path}/cgroup.procs")) || root.exists(format!("{path}/tasks"));
    let below =
        root.list(directory).unwrap_or_default().into_iter().map(|name| format!("{directory}/{name}"));
    for path in below.filter(is_cgroup) {
        if path_of(root, &path, file).is_some() {
            targets.push(Target {
                what: format!("cgroup {}", &path[path.rfind('/').map_or(0, |i| i + 1)..]),
                id: path.clone(),
            });
        }
        if depth > 0 {
            walk(root, &path, file, depth - 1, targets);
        }
    }
}

/// Version 1 hierarchies mounted with `noprefix` leave `cpuset.` out.
fn path_of(root: &Root, cgroup: &str, file: &str) -> Option<String> {
    let files = [format!("{cgroup}/cpuset.{file}"), format!("{cgroup}/{file}")];
    files.into_iter().find(|path| root.exists(path))
}

/// The file `cpuset.FILE` of a cgroup.
pub(in crate::knobs) fn existing(
    root: &Root,
    about: &About,
    target: &str,
    file: &str,
) -> Result<String, Fault> {
    let plain = target.starts_with('/') && !target.split('/').any(|part| part == "." || part == "..");
    let found = if plain { path_of(root, target.trim_end_matches('/'), file) } else { None };
    found.ok_or_else(|| {
        no_such(about, target, "this is not a directory of a cgroup with the cpuset controller")
    })
}

/// Refuses an empty set where the kernel would: a cgroup of version 1 has no parent's set to fall back on.
pub(in crate::knobs) fn may_be_empty(
    root: &Root,
    about: &About,
    target: &str,
    remedy: &str,
) -> Result<(), Fault> {
    if !root.exists(format!("{}/tasks", target.trim_end_matches('/'))) {
        return Ok(());
    }
    let cause = "a cgroup of version 1 cannot have an empty set while it has processes";
    Err(Fault::new(Class::Usage, format!("{} of {target}", about.id), cause, remedy))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    fn root() -> Root {
        Root::from_tree(
            Tree::new()
                .file("/sys/devices/system/cpu/online", "0-3\n")
                .file(
                    "/proc/self/mountinfo",
                    "22 27 0:21 / /proc rw - proc proc rw\n\
                     34 31 0:31 / /cg/cpuset rw,relatime - cgroup cgroup rw,cpuset\n\
                     35 31 0:32 / /cg/memory rw,relatime - cgroup cgroup rw,memory\n\
                     41 31 0:38 / /cg/unified rw,relatime shared:4 - cgroup2 cgroup2 rw\n",
                )
                .file("/cg/cpuset/cpuset.cpus", "0-3\n")
                .file("/cg/cpuset/tasks", "1\n")
                .file("/cg/cpuset/batch/tasks", "")
                .file("/cg/cpuset/batch/cpuset.cpus", "2-3\n")
                .file("/cg/memory/x/tasks", "")
                .file("/cg/unified/system.slice/cgroup.procs", "")
                .file("/cg/unified/system.slice/nginx.service/cgroup.procs", "")
                .file("/cg/unified/system.slice/nginx.service/cpuset.cpus", "\n"),
        )
    }

    #[test]
    fn cgroups_of_both_versions_are_found_below_their_tops() {
        let ids: Vec<String> = Cpuset.targets(&root()).unwrap().into_iter().map(|t| t.id).collect();
        assert_eq!(ids, ["/cg/cpuset/batch", "/cg/unified/system.slice/nginx.service"]);
        assert_eq!(Cpuset.read(&root(), "/cg/cpuset/batch").unwrap(), "2-3");
        assert_eq!(Cpuset.read(&root(), "/cg/unified/system.slice/nginx.service").unwrap(), "");
    }

    #[test]
    fn what_is_no_cgroup_and_what_it_cannot_have_is_refused() {
        for target in ["batch", "/cg/cpuset/../cpuset/batch", "/cg/cpuset/none", "/proc"] {
            assert!(Cpuset.change(&root(), target, "0").is_err(), "{target}");
        }
        assert!(Cpuset.change(&root(), "/cg/cpuset/batch", "").unwrap_err().cause.contains("version 1"));
        assert!(Cpuset.change(&root(), "/cg/unified/system.slice/nginx.service", "").is_ok());
        assert!(Cpuset.change(&root(), "/cg/cpuset/batch", "9").is_err());
    }
}
