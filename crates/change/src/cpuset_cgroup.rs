//! A cgroup that confines a launched process to its CPUs, so that it cannot leave by setting its own affinity.

use std::path::{Path, PathBuf};

use machine::limits::mounts::{self, Mount};
use machine::{Act, Class, CpuSet, Fault};

use crate::hand::Hand;
use crate::kernel::Kernel;

/// Where a cpuset cgroup can be made.
#[derive(Debug, PartialEq, Eq)]
struct Place {
    /// Directory to make it in: below our own limits, so that they keep holding.
    parent: PathBuf,
    /// Prefix of the files: `cpuset.`; empty in a version 1 hierarchy mounted with `noprefix`.
    prefix: &'static str,
    /// Version 1, which leaves a new cpuset empty: nodes must be written too.
    v1: bool,
    /// Version 2 parent that does not hand the controller down yet.
    must_enable: bool,
}

/// Makes a cgroup with those CPUs through the hand, and gives its directory.
pub fn create(hand: &mut Hand, cpus: &CpuSet) -> Result<PathBuf, Fault> {
    let place = find(&*hand.kernel)?;
    let write = |path: PathBuf, value: String| Act::WriteFile { path, value, netns: None };
    if place.must_enable {
        hand.perform(&write(place.parent.join("cgroup.subtree_control"), "+cpuset".into()))?;
    }
    let path = place.parent.join(format!("pinwise-{}-{}", hand.session(), hand.next_seq()));
    hand.perform(&Act::CreateCgroup { path: path.clone() })?;
    if place.v1 {
        let nodes = nodes(&*hand.kernel, &place)?;
        hand.perform(&write(path.join(format!("{}mems", place.prefix)), nodes))?;
    }
    let receipt = hand.perform(&write(path.join(format!("{}cpus", place.prefix)), cpus.to_list()))?;
    if !receipt.took_effect {
        let cause = format!("asked for CPUs {cpus}, it reads {}", receipt.read_back);
        return Err(Fault::new(
            Class::MachineLacks,
            receipt.object,
            cause,
            "choose from the CPUs of its parent cgroup",
        ));
    }
    Ok(path)
}

fn find(kernel: &dyn Kernel) -> Result<Place, Fault> {
    let read =
        |path: &str| kernel.read_file(path.as_ref(), None).map_err(|e| Fault::io(path, &e, "mount /proc"));
    let (mountinfo, own) = (read("/proc/self/mountinfo")?, read("/proc/self/cgroup")?);
    let mounts = mounts::parse(&mountinfo);
    let own_in = |mount: &Mount| mount.directory_of(&own).map(PathBuf::from);
    let found = match mounts.iter().find(|mount| mount.is_v1_of("cpuset")) {
        Some(mount) => own_in(mount).map(|parent| {
            let prefixed = kernel.read_file(&parent.join("cpuset.mems"), None).is_ok();
            Place { parent, prefix: if prefixed { "cpuset." } else { "" }, v1: true, must_enable: false }
        }),
        None => mounts
            .iter()
            .filter(|mount| mount.is_v2())
            .find_map(|mount| find_v2(kernel, mount.point.as_ref(), &own_in(mount)?)),
    };
    found.ok_or_else(|| {
        let remedy = "mount a cgroup hierarchy with cpuset, or leave the cpuset cgroup out: the affinity is set all the same";
        Fault::new(Class::MachineLacks, "cgroup cpuset", "no hierarchy offers the controller to this process", remedy)
    })
}

/// The nearest cgroup above ours that has the controller. Ours itself holds processes, and version 2 lets only the
/// top cgroup have both processes and children with controllers.
fn find_v2(kernel: &dyn Kernel, top: &Path, own: &Path) -> Option<Place> {
    let has = |directory: &Path, file: &str| {
        let text = kernel.read_file(&directory.join(file), None).unwrap_or_default();
        text.split_whitespace().any(|controller| controller == "cpuset")
    };
    let first = if own == top { own } else { own.parent()? };
    let candidates = first.ancestors().take_while(|directory| directory.starts_with(top));
    let parent = candidates.into_iter().find(|directory| has(directory, "cgroup.controllers"))?;
    let must_enable = !has(parent, "cgroup.subtree_control");
    Some(Place { parent: parent.into(), prefix: "cpuset.", v1: false, must_enable })
}

/// Memory nodes of the parent: what is in force where the kernel tells it, else what is asked for.
fn nodes(kernel: &dyn Kernel, place: &Place) -> Result<String, Fault> {
    let file = |name: &str| place.parent.join(format!("{}{name}", place.prefix));
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
    fn version_1_makes_it_below_our_own_cpuset() {
        let kernel = EmulatedKernel::new();
        kernel.add_file(
            "/proc/self/mountinfo",
            "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset",
        );
        kernel.add_file("/proc/self/cgroup", "3:cpuset:/mine");
        kernel.add_file("/sys/fs/cgroup/cpuset/mine/cpuset.mems", "0-1");
        let place = find(&kernel).unwrap();
        assert_eq!(place.parent, Path::new("/sys/fs/cgroup/cpuset/mine"));
        assert!(place.v1 && place.prefix == "cpuset.");
        assert_eq!(nodes(&kernel, &place).unwrap(), "0-1");
    }

    #[test]
    fn version_2_makes_it_beside_us_and_enables_the_controller_where_needed() {
        let kernel = EmulatedKernel::new();
        kernel.add_file("/proc/self/mountinfo", "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw");
        kernel.add_file("/proc/self/cgroup", "0::/user.slice/session-3.scope");
        kernel.add_file("/sys/fs/cgroup/user.slice/cgroup.controllers", "memory pids");
        kernel.add_file("/sys/fs/cgroup/cgroup.controllers", "cpuset memory pids");
        kernel.add_file("/sys/fs/cgroup/cgroup.subtree_control", "memory pids");
        let place = find(&kernel).unwrap();
        assert_eq!(place.parent, Path::new("/sys/fs/cgroup"));
        assert!(!place.v1 && place.must_enable);
        kernel.add_file("/sys/fs/cgroup/cgroup.subtree_control", "cpuset memory pids");
        assert!(!find(&kernel).unwrap().must_enable);
    }

    #[test]
    fn without_the_controller_the_fault_says_what_still_works() {
        let kernel = EmulatedKernel::new();
        kernel.add_file("/proc/self/mountinfo", "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw");
        kernel.add_file("/proc/self/cgroup", "0::/");
        kernel.add_file("/sys/fs/cgroup/cgroup.controllers", "hugetlb");
        let fault = find(&kernel).unwrap_err();
        assert_eq!(fault.class, Class::MachineLacks);
        assert!(fault.remedy.contains("affinity"), "{fault}");
    }
}
