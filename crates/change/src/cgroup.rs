//! Where cgroup hierarchies are mounted, and where in them a process is (cgroups(7), proc_pid_mountinfo(5)).

use std::path::{Path, PathBuf};

/// One mounted cgroup hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hierarchy {
    /// Where it is mounted.
    pub mount_point: PathBuf,
    /// Which of its cgroups the mount shows as its top: `/`, or a container's own.
    pub root: String,
    /// Controllers of a version 1 hierarchy (`cpuset`, `name=systemd`); empty for version 2.
    pub controllers: Vec<String>,
    /// Whether it is the version 2 hierarchy.
    pub v2: bool,
}

impl Hierarchy {
    /// Every hierarchy in the text of /proc/self/mountinfo; lines of other file systems are passed over.
    pub fn all(mountinfo: &str) -> Vec<Self> {
        mountinfo.lines().filter_map(Self::parse).collect()
    }

    fn parse(line: &str) -> Option<Self> {
        let (mount, super_block) = line.split_once(" - ")?;
        let mut mount = mount.split(' ').skip(3);
        let (root, mount_point) = (unescape(mount.next()?), unescape(mount.next()?));
        let mut super_block = super_block.split(' ');
        let v2 = match super_block.next()? {
            "cgroup2" => true,
            "cgroup" => false,
            _ => return None,
        };
        let options = super_block.nth(1).unwrap_or_default().split(',');
        let flags = ["rw", "ro", "noprefix", "xattr", "clone_children"];
        let is_controller =
            |option: &&str| !v2 && !flags.contains(option) && !option.starts_with("release_agent=");
        let controllers = options.filter(is_controller).map(String::from).collect();
        Some(Self { mount_point: mount_point.into(), root, controllers, v2 })
    }

    /// The directory of the cgroup that the text of a /proc/PID/cgroup names in this hierarchy.
    ///
    /// `None`: it has no line for it, or the cgroup lies outside of what the mount shows.
    pub fn directory(&self, proc_cgroup: &str) -> Option<PathBuf> {
        let path = proc_cgroup.lines().find_map(|line| {
            let mut parts = line.splitn(3, ':');
            let (id, controllers, path) = (parts.next()?, parts.next()?, parts.next()?);
            let ours = match self.v2 {
                true => id == "0" && controllers.is_empty(),
                false => controllers.split(',').any(|one| self.controllers.iter().any(|c| c == one)),
            };
            ours.then_some(path)
        })?;
        // A cgroup that was removed while a process is still in it is marked so.
        let path = path.strip_suffix(" (deleted)").unwrap_or(path);
        let below = Path::new(path).strip_prefix(&self.root).ok()?;
        Some(if below.as_os_str().is_empty() {
            self.mount_point.clone()
        } else {
            self.mount_point.join(below)
        })
    }
}

/// The hierarchy in which `path` lies: that of the longest mount point above it.
pub fn hierarchy_of(mountinfo: &str, path: &Path) -> Option<Hierarchy> {
    let above = Hierarchy::all(mountinfo).into_iter().filter(|h| path.starts_with(&h.mount_point));
    above.max_by_key(|h| h.mount_point.components().count())
}

/// Undoes the octal escapes of mountinfo (`\040` for a blank).
fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        match after.get(..3).and_then(|digits| u8::from_str_radix(digits, 8).ok()) {
            Some(byte) => {
                out.push(byte.into());
                rest = &after[3..];
            }
            None => {
                out.push('\\');
                rest = after;
            }
        }
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1: &str = "\
22 27 0:21 / /proc rw,relatime - proc proc rw
33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct
34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime shared:9 - cgroup cgroup rw,cpuset
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,xattr,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";
    const MEMBER: &str = "9:name=systemd:/\n4:cpu,cpuacct:/batch\n3:cpuset:/batch/one\n0::/user.slice\n";

    #[test]
    fn each_hierarchy_has_its_own_place_for_a_process() {
        let directory = |near: &str| hierarchy_of(V1, near.as_ref()).unwrap().directory(MEMBER);
        assert_eq!(
            directory("/sys/fs/cgroup/cpuset/x").unwrap(),
            Path::new("/sys/fs/cgroup/cpuset/batch/one")
        );
        assert_eq!(directory("/sys/fs/cgroup/cpuacct").unwrap(), Path::new("/sys/fs/cgroup/cpuacct/batch"));
        assert_eq!(directory("/sys/fs/cgroup/systemd").unwrap(), Path::new("/sys/fs/cgroup/systemd"));
        assert_eq!(
            directory("/sys/fs/cgroup/unified/y").unwrap(),
            Path::new("/sys/fs/cgroup/unified/user.slice")
        );
        assert_eq!(hierarchy_of(V1, "/proc/irq".as_ref()), None);
    }

    #[test]
    fn a_container_sees_its_own_cgroup_as_the_top() {
        let line = "700 690 0:28 /docker/ab /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n";
        let hierarchy = hierarchy_of(line, "/sys/fs/cgroup/x".as_ref()).unwrap();
        assert_eq!(hierarchy.directory("0::/docker/ab\n").unwrap(), Path::new("/sys/fs/cgroup"));
        assert_eq!(hierarchy.directory("0::/docker/ab/x\n").unwrap(), Path::new("/sys/fs/cgroup/x"));
        assert_eq!(hierarchy.directory("0::/elsewhere\n"), None);
    }

    #[test]
    fn escapes_and_malformed_lines() {
        assert_eq!(unescape(r"/a\040b\134c\9"), r"/a b\c\9");
        assert!(Hierarchy::all("1 2 3\n - cgroup\n\n1 2 3 / /x rw").is_empty());
        assert_eq!(hierarchy_of(V1, "/sys/fs/cgroup/cpuset".as_ref()).unwrap().directory("garbage\n"), None);
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(.|\n){0,80}", near in "/.{0,20}") {
            let near = Path::new(&near);
            let _ = hierarchy_of(&text, near);
            let _ = hierarchy_of(&format!("1 2 3 / / rw - cgroup2 {text}"), near).map(|h| h.directory(&text));
        }
    }
}
