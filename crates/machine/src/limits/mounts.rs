//! Which cgroup hierarchies are mounted where (cgroups(7), proc_pid_mountinfo(5), fstab(5) for /proc/mounts).

use std::path::Path;

use super::cgroups;
use crate::procfs::escapes;
use crate::{ReadError, Root};

/// One mounted cgroup hierarchy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mount {
    /// The cgroup that the mount shows as its top: `/` unless a container shows a part only.
    pub root: String,
    /// Where it is mounted.
    pub point: String,
    /// Its kind: `cgroup` (version 1), `cgroup2`, or `cpuset`, the file system of before cgroups.
    pub kind: String,
    /// Its own options, the controllers of a version 1 hierarchy among them (`cpuset`, `name=systemd`).
    pub options: Vec<String>,
}

/// What [`read`] came to.
pub(crate) type Mounts = Result<Vec<Mount>, ReadError>;

impl Mount {
    /// Whether it is the version 2 hierarchy.
    pub fn is_v2(&self) -> bool {
        self.kind == "cgroup2"
    }

    /// Whether it is the version 1 hierarchy of a controller.
    pub fn is_v1_of(&self, controller: &str) -> bool {
        self.kind == "cgroup" && self.options.iter().any(|option| option == controller)
    }

    /// The directory of a cgroup by its path in the hierarchy; `None` when the mount does not show it.
    pub fn directory(&self, path: &str) -> Option<String> {
        // A path that leads above the root of our cgroup namespace is printed with "..": it cannot be seen from here.
        if path.split('/').any(|part| part == "..") {
            return None;
        }
        // What stands for a byte that is no UTF-8 leads to another cgroup, or to none.
        if path.contains(char::REPLACEMENT_CHARACTER) {
            return None;
        }
        // A cgroup that was removed while a process is still in it is marked so.
        let path = path.strip_suffix(" (deleted)").unwrap_or(path);
        let shown = match self.root.as_str() {
            "/" => path,
            root => path.strip_prefix(root).filter(|rest| rest.is_empty() || rest.starts_with('/'))?,
        };
        Some(format!("{}{}", self.point, shown.trim_end_matches('/')))
    }

    /// The directory of the cgroup that the text of a /proc/PID/cgroup names in this hierarchy; `None` when it names
    /// none, or one that the mount does not show.
    pub fn directory_of(&self, proc_cgroup: &str) -> Option<String> {
        let mut places = proc_cgroup.lines().filter_map(cgroups::place);
        let (_, _, path) =
            places.find(|(version, controllers, _)| cgroups::carries(self, *version, controllers))?;
        self.directory(&path)
    }
}

/// The hierarchies in the text of a mountinfo; other file systems are passed over.
pub fn parse(mountinfo: &str) -> Vec<Mount> {
    mountinfo.lines().filter_map(of_mountinfo).collect()
}

/// The hierarchy in which `path` lies: that of the longest mount point above it.
pub fn above<'a>(mounts: &'a [Mount], path: &Path) -> Option<&'a Mount> {
    let above = mounts.iter().filter(|mount| path.starts_with(&mount.point));
    above.max_by_key(|mount| Path::new(&mount.point).components().count())
}

/// Reads /proc/self/mountinfo, or /proc/mounts where that is absent (before 2.6.26).
pub(crate) fn read(root: &Root) -> Mounts {
    match root.read("/proc/self/mountinfo") {
        Ok(text) => Ok(parse(&text)),
        Err(e) if e.is_absent() => {
            let text =
                root.read("/proc/mounts").map_err(|second| if second.is_absent() { e } else { second })?;
            Ok(text.lines().filter_map(of_mounts).collect())
        }
        Err(e) => Err(e),
    }
}

/// `31 23 0:28 ROOT POINT OPTIONS [TAGS...] - KIND SOURCE SUPER_OPTIONS`
fn of_mountinfo(line: &str) -> Option<Mount> {
    let (before, after) = line.split_once(" - ")?;
    let mut before = before.split(' ').skip(3);
    let (root, point) = (before.next()?, before.next()?);
    let mut after = after.split(' ');
    let (kind, options) = (after.next()?, after.nth(1)?);
    mount(root, point, kind, options)
}

/// `SOURCE POINT KIND OPTIONS 0 0`
fn of_mounts(line: &str) -> Option<Mount> {
    let mut fields = line.split(' ').skip(1);
    let (point, kind, options) = (fields.next()?, fields.next()?, fields.next()?);
    mount("/", point, kind, options)
}

fn mount(root: &str, point: &str, kind: &str, options: &str) -> Option<Mount> {
    let is_hierarchy = matches!(kind, "cgroup" | "cgroup2" | "cpuset");
    let options = || options.split(',').map(String::from).collect();
    is_hierarchy.then(|| Mount {
        root: unescape(root),
        point: unescape(point),
        kind: kind.to_string(),
        options: options(),
    })
}

/// Blanks and backslashes stand in these files as `\040`.
fn unescape(text: &str) -> String {
    escapes::unescape(text, |code| {
        let octal = code.bytes().all(|b| (b'0'..=b'7').contains(&b));
        // As before, a code past 377 keeps its lower eight bits.
        octal.then(|| u32::from_str_radix(code, 8).ok()).flatten().map(|value| value as u8)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1: &str = "\
22 27 0:21 / /proc rw,relatime - proc proc rw
33 31 0:30 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu,cpuacct
34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime shared:9 - cgroup cgroup rw,cpuset
40 31 0:37 / /sys/fs/cgroup/systemd rw,relatime - cgroup cgroup rw,xattr,name=systemd
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
";
    const MEMBER: &str = "9:name=systemd:/\n4:cpu,cpuacct:/batch\n3:cpuset:/batch/one\n0::/user.slice\n";

    #[test]
    fn both_files_and_their_malformed_lines() {
        let info = "36 35 0:33 /lxc/a\\040b /sys/fs/cgroup/cpu\\054x rw,relatime shared:1 master:2 - cgroup c rw,cpu,cpuacct";
        let mount = of_mountinfo(info).unwrap();
        assert_eq!((mount.root.as_str(), mount.point.as_str()), ("/lxc/a b", "/sys/fs/cgroup/cpu,x"));
        assert!(mount.is_v1_of("cpuacct") && !mount.is_v1_of("cpuset") && !mount.is_v2());
        let old = of_mounts("none /dev/cpuset cpuset rw 0 0").unwrap();
        assert_eq!((old.point.as_str(), old.kind.as_str()), ("/dev/cpuset", "cpuset"));
        assert!(of_mountinfo("36 35 0:33 / /x rw - cgroup").is_none());
        assert!(of_mountinfo("").is_none());
        assert!(of_mounts("none /dev").is_none());
        assert!(parse("1 2 3\n - cgroup\n\n1 2 3 / /x rw").is_empty());
        assert_eq!(unescape(r"/a\040b\134c\9"), r"/a b\c\9");
    }

    #[test]
    fn a_mount_point_that_is_no_text_hides_no_hierarchy() {
        let bytes = [b"1 0 0:1 / /mnt/\xff rw - ext4 /dev/x rw\n".as_slice(), V1.as_bytes()].concat();
        let root = Root::from_tree(crate::Tree::new().file("/proc/self/mountinfo", bytes));
        assert_eq!(read(&root).unwrap(), parse(V1));
    }

    #[test]
    fn each_hierarchy_has_its_own_place_for_a_process() {
        let mounts = parse(V1);
        let directory = |near: &str| above(&mounts, near.as_ref()).unwrap().directory_of(MEMBER);
        let told = |near: &str| directory(near).unwrap();
        assert_eq!(told("/sys/fs/cgroup/cpuset/x"), "/sys/fs/cgroup/cpuset/batch/one");
        assert_eq!(told("/sys/fs/cgroup/cpu"), "/sys/fs/cgroup/cpu/batch");
        assert_eq!(told("/sys/fs/cgroup/systemd"), "/sys/fs/cgroup/systemd");
        assert_eq!(told("/sys/fs/cgroup/unified/y"), "/sys/fs/cgroup/unified/user.slice");
        assert_eq!(above(&mounts, "/proc/irq".as_ref()), None);
        assert_eq!(above(&mounts, "/sys/fs/cgroup/cpusets".as_ref()), None);
        assert_eq!(mounts[1].directory_of("garbage\n"), None);
        assert_eq!(
            mounts[1].directory_of("3:cpuset:/gone (deleted)\n").unwrap(),
            "/sys/fs/cgroup/cpuset/gone"
        );
    }

    #[test]
    fn a_container_sees_its_own_cgroup_as_the_top() {
        let line = "700 690 0:28 /docker/ab /sys/fs/cgroup ro,nosuid - cgroup2 cgroup rw,nsdelegate\n";
        let mount = of_mountinfo(line.trim()).unwrap();
        assert_eq!(mount.directory_of("0::/docker/ab\n").unwrap(), "/sys/fs/cgroup");
        assert_eq!(mount.directory_of("0::/docker/ab/x\n").unwrap(), "/sys/fs/cgroup/x");
        assert_eq!(
            mount.directory_of("0::/docker/ab/\u{fffd}\n"),
            None,
            "in place of a byte that is not UTF-8"
        );
        for elsewhere in ["0::/elsewhere\n", "0::/docker/abc\n", "0::/docker/ab/../x\n"] {
            assert_eq!(mount.directory_of(elsewhere), None, "{elsewhere}");
        }
    }

    proptest::proptest! {
        #[test]
        fn no_text_makes_it_panic(text in "(.|\n){0,80}", line in "[ -~\\\\é]{0,60}", near in "/.{0,20}") {
            let _ = of_mountinfo(&line);
            let _ = of_mounts(&line);
            let mounts = parse(&format!("{text}\n1 2 3 / / rw - cgroup2 {text}"));
            let _ = above(&mounts, Path::new(&near)).map(|mount| mount.directory_of(&text));
        }
    }
}
