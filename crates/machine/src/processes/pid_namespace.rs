//! In which PID namespace the numbers of /proc count (pid_namespaces(7)): that of the mount, which need not be that of this process.

use crate::Root;

/// Number of the first pid namespace (`PROC_PID_INIT_INO` of include/linux/proc_ns.h).
pub const FIRST: u32 = 4_026_531_836;

/// The namespace whose numbers /proc shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PidNamespace {
    /// Its number, as /proc/PID/ns/pid shows it; `None` where that cannot be read, or the kernel has no such namespaces.
    pub inum: Option<u32>,
    /// Whether this process has its numbers there as well. In a container that was entered without its mounts, or with those of the host,
    /// a number of /proc means another process to the kernel than to us.
    pub is_ours: bool,
}

impl PidNamespace {
    /// The namespace of /proc.
    pub fn of_proc(root: &Root) -> Self {
        let of_first = || inum(root, "/proc/1/ns/pid");
        let own = inum(root, "/proc/self/ns/pid");
        let status = root.read("/proc/self/status").ok();
        match status.as_deref().and_then(numbers) {
            // The first number is that in the namespace of the mount, the last one our own: a single number is both.
            Some(2..) => Self { inum: of_first(), is_ours: false },
            // A procfs of a namespace that does not see us has no /proc/self.
            None if status.is_none() && own.is_none() => {
                let first = of_first();
                Self { inum: first, is_ours: first.is_none() }
            }
            Some(_) | None => Self { inum: own, is_ours: true },
        }
    }

    /// Whether its numbers are those of the kernel itself; `None` where that is not known.
    pub fn is_first(self) -> Option<bool> {
        match (self.inum, self.is_ours) {
            (Some(inum), _) => Some(inum == FIRST),
            // A kernel without PID namespaces has one set of numbers.
            (None, true) => Some(true),
            (None, false) => None,
        }
    }
}

/// How many numbers of the process the file has (`NSpid`, since 4.1): one for each namespace from that of the mount to its own.
fn numbers(status: &str) -> Option<usize> {
    let line = status.lines().find_map(|line| line.strip_prefix("NSpid:"))?;
    Some(line.split_ascii_whitespace().count()).filter(|numbers| *numbers > 0)
}

/// `pid:[4026531836]`
fn inum(root: &Root, link: &str) -> Option<u32> {
    root.link(link).ok()?.to_str()?.strip_prefix("pid:[")?.strip_suffix(']')?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    fn of(tree: Tree) -> PidNamespace {
        PidNamespace::of_proc(&Root::from_tree(tree))
    }

    fn own(numbers: &str) -> Tree {
        Tree::new()
            .file("/proc/self/status", format!("Name:\tpinwise\nNSpid:\t{numbers}\n"))
            .link("/proc/self/ns/pid", "pid:[4026532201]")
    }

    #[test]
    fn a_container_with_a_proc_of_its_own_has_its_own_numbers() {
        let there = of(own("7"));
        assert_eq!(there, PidNamespace { inum: Some(4_026_532_201), is_ours: true });
        assert_eq!(there.is_first(), Some(false));
        let on_host = own("7").link("/proc/self/ns/pid", "pid:[4026531836]");
        assert_eq!(of(on_host).is_first(), Some(true));
    }

    #[test]
    fn the_numbers_are_those_of_the_mount_where_it_is_that_of_an_outer_namespace() {
        let host = own("30571\t7").link("/proc/1/ns/pid", "pid:[4026531836]");
        assert_eq!(of(host), PidNamespace { inum: Some(FIRST), is_ours: false });
        let middle = own("300\t20\t7").link("/proc/1/ns/pid", "pid:[4026532100]");
        assert_eq!(of(middle).inum, Some(4_026_532_100));
        assert_eq!(of(own("30571\t7")).is_first(), None, "its first process is not shown");
    }

    #[test]
    fn a_mount_that_does_not_see_us_is_not_ours() {
        let inner = Tree::new().link("/proc/1/ns/pid", "pid:[4026532201]").file("/proc/1/stat", "");
        assert_eq!(of(inner), PidNamespace { inum: Some(4_026_532_201), is_ours: false });
    }

    #[test]
    fn kernels_that_say_less_are_taken_at_their_word() {
        let old = Tree::new()
            .file("/proc/self/status", "Name:\tpinwise\n")
            .link("/proc/self/ns/pid", "pid:[4026532201]");
        assert_eq!(of(old), PidNamespace { inum: Some(4_026_532_201), is_ours: true });
        let without = Tree::new().file("/proc/self/status", "Name:\tpinwise\nNSpid:\t7\n");
        assert_eq!(of(without).is_first(), Some(true));
        assert_eq!(of(Tree::new()), PidNamespace { inum: None, is_ours: true });
        let malformed = own("").link("/proc/self/ns/pid", "pid:4026532201");
        assert_eq!(of(malformed), PidNamespace { inum: None, is_ours: true });
    }
}
