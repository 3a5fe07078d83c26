//! Which cgroup hierarchies are mounted where (proc_pid_mountinfo(5), fstab(5) for /proc/mounts).

use crate::escapes;
use crate::{ReadError, Root};

/// One mounted file system.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Mount {
    /// The directory within the file system that is mounted: `/` unless a container shows a part only.
    pub(crate) root: String,
    /// Where it is mounted.
    pub(crate) point: String,
    /// Its kind: `cgroup`, `cgroup2`, `cpuset`.
    pub(crate) kind: String,
    /// Its own options: the controllers of a cgroup v1 hierarchy.
    pub(crate) options: Vec<String>,
}

/// Reads /proc/self/mountinfo, or /proc/mounts where that is absent (before 2.6.26).
pub(crate) fn read(root: &Root) -> Result<Vec<Mount>, ReadError> {
    match root.read("/proc/self/mountinfo") {
        Ok(text) => Ok(text.lines().filter_map(of_mountinfo).collect()),
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
    Some(mount(root, point, kind, options))
}

/// `SOURCE POINT KIND OPTIONS 0 0`
fn of_mounts(line: &str) -> Option<Mount> {
    let mut fields = line.split(' ').skip(1);
    let (point, kind, options) = (fields.next()?, fields.next()?, fields.next()?);
    Some(mount("/", point, kind, options))
}

fn mount(root: &str, point: &str, kind: &str, options: &str) -> Mount {
    let options = options.split(',').map(String::from).collect();
    Mount { root: unescape(root), point: unescape(point), kind: kind.to_string(), options }
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

    #[test]
    fn both_files_and_their_malformed_lines() {
        let info = "36 35 0:33 /lxc/a\\040b /sys/fs/cgroup/cpu\\054x rw,relatime shared:1 master:2 - cgroup c rw,cpu,cpuacct";
        let mount = of_mountinfo(info).unwrap();
        assert_eq!((mount.root.as_str(), mount.point.as_str()), ("/lxc/a b", "/sys/fs/cgroup/cpu,x"));
        assert_eq!((mount.kind.as_str(), mount.options.len()), ("cgroup", 3));
        let old = of_mounts("none /dev/cpuset cpuset rw 0 0").unwrap();
        assert_eq!((old.point.as_str(), old.kind.as_str()), ("/dev/cpuset", "cpuset"));
        assert!(of_mountinfo("36 35 0:33 / /x rw - cgroup").is_none());
        assert!(of_mountinfo("").is_none());
        assert!(of_mounts("none /dev").is_none());
    }

    proptest::proptest! {
        #[test]
        fn no_line_makes_a_parser_panic(line in "[ -~\\\\é]{0,60}") {
            let _ = of_mountinfo(&line);
            let _ = of_mounts(&line);
        }
    }
}
