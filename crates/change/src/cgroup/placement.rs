//! Where cgroups for launched processes can be made: below our own limits, so that they keep holding.

use std::path::{Path, PathBuf};

use machine::limits::mounts::{self, Mount};
use machine::{Act, Class, Fault};

use crate::executor::Hand;
use crate::kernel::Kernel;

/// A directory in which a cgroup can be made, for one or several controllers.
#[derive(Debug, PartialEq, Eq)]
pub struct Place {
    /// Directory to make it in.
    pub parent: PathBuf,
    /// Controllers that are wanted and found here.
    pub controllers: Vec<&'static str>,
    /// Version 1.
    pub v1: bool,
    /// Controllers that a version 2 parent does not hand down yet.
    pub must_enable: Vec<&'static str>,
}

impl Place {
    /// Makes a cgroup here through the hand, and gives its directory.
    pub fn make(&self, hand: &mut Hand) -> Result<PathBuf, Fault> {
        for controller in &self.must_enable {
            let path = self.parent.join("cgroup.subtree_control");
            hand.perform(&Act::WriteFile { path, value: format!("+{controller}"), netns: None })?;
        }
        let path = self.parent.join(format!("pinwise-{}-{}", hand.session(), hand.next_seq()));
        hand.perform(&Act::CreateCgroup { path: path.clone() })?;
        Ok(path)
    }
}

/// Writes to a file of a cgroup through the hand; fails when it reads back otherwise.
pub fn write(hand: &mut Hand, path: PathBuf, value: String, remedy: &str) -> Result<(), Fault> {
    let receipt = hand.perform(&Act::WriteFile { path, value, netns: None })?;
    match receipt.took_effect {
        true => Ok(()),
        false => {
            let cause = format!("requested {}, reads back {}", receipt.asked, receipt.read_back);
            Err(Fault::new(Class::MachineLacks, receipt.object, cause, remedy))
        }
    }
}

/// Where these controllers are: one place for those that share a hierarchy, since a process is in one cgroup of each.
///
/// Errors: no hierarchy offers one of them to this process; `remedies` say what to do without it.
pub fn find(kernel: &dyn Kernel, wanted: &[(&'static str, &'static str)]) -> Result<Vec<Place>, Fault> {
    let read =
        |path: &str| kernel.read_file(path.as_ref(), None).map_err(|e| Fault::io(path, &e, "mount /proc"));
    let (mountinfo, own) = (read("/proc/self/mountinfo")?, read("/proc/self/cgroup")?);
    let mounts = mounts::parse(&mountinfo);
    let own_in = |mount: &Mount| mount.directory_of(&own).map(PathBuf::from);
    let (mut places, mut of_v2): (Vec<Place>, Vec<_>) = (Vec::new(), Vec::new());
    for (controller, remedy) in wanted {
        let Some(mount) = mounts.iter().find(|mount| mount.is_v1_of(controller)) else {
            of_v2.push((*controller, *remedy));
            continue;
        };
        let parent = own_in(mount).ok_or_else(|| missing(controller, remedy))?;
        match places.iter_mut().find(|place| place.parent == parent) {
            Some(place) => place.controllers.push(controller),
            None => {
                places.push(Place {
                    parent,
                    controllers: vec![controller],
                    v1: true,
                    must_enable: Vec::new(),
                });
            }
        }
    }
    if let Some((controller, remedy)) = of_v2.first() {
        let names: Vec<&'static str> = of_v2.iter().map(|(name, _)| *name).collect();
        let mut hierarchies = mounts.iter().filter(|mount| mount.is_v2());
        let place =
            hierarchies.find_map(|mount| find_v2(kernel, mount.point.as_ref(), &own_in(mount)?, &names));
        places.push(place.ok_or_else(|| missing(controller, remedy))?);
    }
    Ok(places)
}

fn missing(controller: &str, remedy: &str) -> Fault {
    let cause = "no hierarchy offers the controller to this process";
    Fault::new(Class::MachineLacks, format!("cgroup {controller}"), cause, remedy)
}

/// The nearest cgroup above ours that has the controllers. Ours itself holds processes, and version 2 lets only the
/// top cgroup have both processes and children with controllers.
fn find_v2(kernel: &dyn Kernel, top: &Path, own: &Path, names: &[&'static str]) -> Option<Place> {
    let without = |directory: &Path, file: &str| -> Vec<&'static str> {
        let text = kernel.read_file(&directory.join(file), None).unwrap_or_default();
        names.iter().copied().filter(|name| !text.split_whitespace().any(|has| has == *name)).collect()
    };
    let first = if own == top { own } else { own.parent()? };
    let candidates = first.ancestors().take_while(|directory| directory.starts_with(top));
    let parent =
        candidates.into_iter().find(|directory| without(directory, "cgroup.controllers").is_empty())?;
    let must_enable = without(parent, "cgroup.subtree_control");
    Some(Place { parent: parent.into(), controllers: names.to_vec(), v1: false, must_enable })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::EmulatedKernel;

    const CPUSET: (&str, &str) = ("cpuset", "leave the affinity");
    const MEMORY: (&str, &str) = ("memory", "leave the limit");

    fn version_2(controllers: &str) -> EmulatedKernel {
        let kernel = EmulatedKernel::new();
        kernel.add_file("/proc/self/mountinfo", "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw");
        kernel.add_file("/proc/self/cgroup", "0::/user.slice/session-3.scope");
        kernel.add_file("/sys/fs/cgroup/user.slice/cgroup.controllers", "memory pids");
        kernel.add_file("/sys/fs/cgroup/cgroup.controllers", controllers);
        kernel.add_file("/sys/fs/cgroup/cgroup.subtree_control", "memory pids");
        kernel
    }

    #[test]
    fn version_1_makes_it_below_our_own_in_each_hierarchy() {
        let kernel = EmulatedKernel::new();
        let mounts = "34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
                      35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                      41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw";
        kernel.add_file("/proc/self/mountinfo", mounts);
        kernel.add_file("/proc/self/cgroup", "4:memory:/box\n3:cpuset:/mine\n0::/");
        let places = find(&kernel, &[CPUSET, MEMORY]).unwrap();
        let found: Vec<_> = places
            .iter()
            .map(|place| (place.parent.to_str().unwrap(), &place.controllers[..], place.v1))
            .collect();
        assert_eq!(
            found,
            [
                ("/sys/fs/cgroup/cpuset/mine", &["cpuset"][..], true),
                ("/sys/fs/cgroup/memory/box", &["memory"][..], true)
            ]
        );
    }

    #[test]
    fn version_2_makes_one_for_all_beside_us_and_enables_what_it_must() {
        let kernel = version_2("cpuset memory pids");
        let [place] = &find(&kernel, &[CPUSET, MEMORY]).unwrap()[..] else { panic!() };
        assert_eq!(place.parent, Path::new("/sys/fs/cgroup"));
        assert!(!place.v1 && place.must_enable == ["cpuset"]);
        let [place] = &find(&kernel, &[MEMORY]).unwrap()[..] else { panic!() };
        assert_eq!(place.parent, Path::new("/sys/fs/cgroup/user.slice"));
    }

    #[test]
    fn without_a_controller_the_fault_says_what_still_works() {
        let fault = find(&version_2("hugetlb"), &[CPUSET]).unwrap_err();
        assert_eq!(fault.class, Class::MachineLacks);
        assert!(fault.remedy.contains("affinity") && fault.object.contains("cpuset"), "{fault}");
    }
}
