//! The tree of cgroups below a mount: which there are, and which processes they hold (cgroups(7)).

use crate::limits::mounts::Mount;
use crate::{ReadError, Root};

/// Most cgroups that one walk enters, and how deep: a tree from elsewhere could be of any size.
const MOST: usize = 20_000;
const DEEPEST: usize = 24;

/// Names that the kernel gives to the control files of a cgroup: a controller or `cgroup`, a dot, and more. Others are
/// asked to keep away from them (Documentation/admin-guide/cgroup-v2.rst, "Avoid Name Collisions"), and systemd does.
const CONTROLLERS: [&str; 18] = [
    "cgroup",
    "cpu",
    "cpuset",
    "memory",
    "io",
    "pids",
    "hugetlb",
    "rdma",
    "misc",
    "irq",
    "blkio",
    "cpuacct",
    "devices",
    "freezer",
    "net_cls",
    "net_prio",
    "perf_event",
    "dmem",
];
const FILES: [&str; 3] = ["tasks", "notify_on_release", "release_agent"];

/// The trees of cgroups: all mounts but the file system of before cgroups, in which no manager keeps anything.
pub(crate) fn trees(mut mounts: Vec<Mount>) -> Vec<Mount> {
    mounts.retain(|mount| mount.kind != "cpuset");
    mounts
}

/// The hierarchies in which systemd and container engines keep their trees, the likelier one first: v1 `name=systemd`
/// (it is authoritative where both are mounted), v2, and where neither is, whichever v1 hierarchy comes first.
pub(crate) fn managed(mounts: &[Mount]) -> Vec<&Mount> {
    let named = mounts.iter().filter(|mount| mount.options.iter().any(|option| option == "name=systemd"));
    let unified = mounts.iter().filter(|mount| mount.is_v2());
    let mut found: Vec<&Mount> = named.take(1).chain(unified.take(1)).collect();
    if found.is_empty() {
        found.extend(mounts.first());
    }
    found
}

/// Names of the cgroups directly below one.
fn children(root: &Root, directory: &str) -> Vec<String> {
    let Ok(mut names) = root.list(directory) else { return Vec::new() };
    names.retain(|name| {
        let controller = name.split('.').next().unwrap_or(name);
        let is_file =
            FILES.contains(&name.as_str()) || name.contains('.') && CONTROLLERS.contains(&controller);
        !is_file
    });
    names
}

/// Walks the cgroups below a mount, parents first. `enter` gets the path within the hierarchy (not the file system) and
/// the last name on it, and says whether to look below.
pub(crate) fn walk(root: &Root, mount: &Mount, mut enter: impl FnMut(&str, &str) -> bool) {
    // A mount may show a part of the hierarchy only, as in a container.
    let top = mount.root.trim_end_matches('/');
    let mut todo = vec![(String::new(), 0)];
    let mut entered = 0;
    while let Some((path, depth)) = todo.pop() {
        entered += 1;
        if entered > MOST || depth > DEEPEST {
            continue;
        }
        for name in children(root, &format!("{}{path}", mount.point)) {
            let below = format!("{path}/{name}");
            if enter(&format!("{top}{below}"), &name) {
                todo.push((below, depth + 1));
            }
        }
    }
}

/// The directory of a cgroup, by its path within the hierarchy; the mount may show a part of that only.
pub(crate) fn directory(mount: &Mount, path: &str) -> String {
    format!("{}{}", mount.point, path.strip_prefix(mount.root.trim_end_matches('/')).unwrap_or(path))
}

/// The processes of a cgroup and of all below it, by number.
///
/// The error is that of the cgroup itself. Those below that refuse are passed over: in a threaded subtree of v2 the
/// processes are listed at its top only, and its members answer EOPNOTSUPP.
pub(crate) fn processes(root: &Root, directory: &str) -> Result<Vec<u32>, ReadError> {
    let mut pids = listed(root, directory)?;
    let mut todo: Vec<(String, usize)> = vec![(directory.to_string(), 0)];
    let mut entered = 0;
    while let Some((directory, depth)) = todo.pop() {
        entered += 1;
        if entered > MOST || depth > DEEPEST {
            continue;
        }
        for name in children(root, &directory) {
            let below = format!("{directory}/{name}");
            if let Ok(more) = listed(root, &below) {
                pids.extend(more);
                todo.push((below, depth + 1));
            }
        }
    }
    pids.sort_unstable();
    pids.dedup();
    Ok(pids)
}

/// The processes of the first of these cgroups that holds any, with its directory: engines that know one version of cgroups only leave
/// that of the other version empty.
pub(crate) fn first_with_processes(
    root: &Root,
    directories: &[String],
) -> Result<(Vec<u32>, String), ReadError> {
    let mut found = Vec::with_capacity(directories.len());
    for directory in directories {
        found.push((processes(root, directory)?, directory.clone()));
    }
    if found.is_empty() {
        return Err(ReadError::absent("cgroup.procs", "there is no cgroup"));
    }
    let at = found.iter().position(|(pids, _)| !pids.is_empty()).unwrap_or(0);
    Ok(found.swap_remove(at))
}

/// The lines of cgroup.procs; a process of another pid namespace is printed as 0.
fn listed(root: &Root, directory: &str) -> Result<Vec<u32>, ReadError> {
    let path = format!("{directory}/cgroup.procs");
    let text = root.read(&path)?;
    let number = |line: &str| {
        line.trim()
            .parse::<u32>()
            .map_err(|_| ReadError::malformed(&path, format!("'{line}' is not a process")))
    };
    let pids: Result<Vec<u32>, ReadError> = text.lines().map(number).collect();
    Ok(pids?.into_iter().filter(|pid| *pid != 0).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;
    use crate::limits::mounts;

    const MOUNTS: &str = "1 0 0:1 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,name=systemd\n\
        2 0 0:2 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n3 0 0:3 / /dev/cpuset rw - cpuset none rw\n";

    #[test]
    fn cgroups_are_distinguished_from_control_files_and_walked_parents_first() {
        let root = Root::from_tree(
            Tree::new()
                .file("/proc/self/mountinfo", MOUNTS)
                .file("/sys/fs/cgroup/systemd/cgroup.procs", "1\n0\n")
                .file("/sys/fs/cgroup/systemd/tasks", "1\n")
                .file("/sys/fs/cgroup/systemd/a.slice/memory.max", "max\n")
                .file("/sys/fs/cgroup/systemd/a.slice/cgroup.procs", "")
                .file("/sys/fs/cgroup/systemd/a.slice/b.service/cgroup.procs", "7\n")
                .file("/sys/fs/cgroup/systemd/a.slice/b.service/in/cgroup.procs", "9\n8\n")
                .denied("/sys/fs/cgroup/systemd/a.slice/threaded/cgroup.procs"),
        );
        let mounts = trees(mounts::read(&root).unwrap());
        assert_eq!(mounts.len(), 2);
        assert_eq!(managed(&mounts)[0].point, "/sys/fs/cgroup/systemd");
        let mut paths = Vec::new();
        walk(&root, &mounts[0], |path, name| {
            paths.push(path.to_string());
            !name.ends_with(".service")
        });
        assert_eq!(paths, ["/a.slice", "/a.slice/b.service", "/a.slice/threaded"]);
        assert_eq!(processes(&root, "/sys/fs/cgroup/systemd").unwrap(), [1, 7, 8, 9]);
        assert!(processes(&root, "/sys/fs/cgroup/systemd/none").unwrap_err().is_absent());
    }

    #[test]
    fn malformed_members_are_an_error_and_a_deep_tree_ends() {
        let root = Root::from_tree(Tree::new().file("/c/cgroup.procs", "7\nx\n"));
        assert_eq!(processes(&root, "/c").unwrap_err().kind, crate::Cause::Malformed);
        let deep = format!("/c{}/cgroup.procs", "/x".repeat(100));
        let root = Root::from_tree(Tree::new().file(&deep, "5\n"));
        let mount = Mount { root: "/".into(), point: "/c".into(), kind: "cgroup2".into(), options: vec![] };
        let mut count = 0;
        walk(&root, &mount, |_, _| {
            count += 1;
            true
        });
        assert_eq!(count, DEEPEST + 1);
    }
}
