//! Which processes are meant: a number, a systemd unit, a cgroup.

use super::cgroup_tree;
use super::scan::{self, Scan};
use crate::limits::mounts::{self, Mount};
use crate::{Class, Fault, Root};

/// Most names that are offered for one that is not there.
const MOST_OFFERED: usize = 5;

const NO_PROCESS: &str = "there is no such process";

/// The kinds of unit that hold processes (systemd.unit(5)).
const KINDS: [&str; 7] = [".service", ".scope", ".slice", ".socket", ".mount", ".swap", ".timer"];

/// What was asked for, found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundServer {
    /// Processes by number; one that was asked for itself comes first.
    pub pids: Vec<u32>,
    /// The systemd unit, if one was asked for.
    pub unit: Option<String>,
    /// Directory of the cgroup, if one was asked for.
    pub cgroup: Option<String>,
}

/// Finds the processes of `asked`: a process number, a path of a cgroup (it begins with `/`), or a unit's name with or
/// without its kind.
///
/// # Errors
/// No such process, unit or cgroup, with near names; several units of the name; refused files.
pub fn find(root: &Root, asked: &str) -> Result<FoundServer, Fault> {
    let asked = asked.trim();
    match asked {
        "" => {
            Err(Fault::new(Class::Usage, "server", "no process is named", "give a process number or a unit"))
        }
        _ if asked.bytes().all(|byte| byte.is_ascii_digit()) => of_process(root, asked),
        _ if asked.starts_with('/') => of_cgroup(root, asked),
        _ => of_unit(root, asked),
    }
}

/// The process and its descendants.
fn of_process(root: &Root, asked: &str) -> Result<FoundServer, Fault> {
    let object = format!("process {asked}");
    let pid: u32 = asked
        .parse()
        .ok()
        .filter(|pid| *pid > 0)
        .ok_or_else(|| Fault::new(Class::Usage, &object, "there can be no such number", "see ps(1)"))?;
    // A thread's number leads to its folder too, though /proc does not list it: its process is meant.
    let status = super::text(root, &format!("/proc/{pid}/status")).map_err(|e| match e.is_absent() {
        true => {
            Fault::new(Class::MachineLacks, &object, NO_PROCESS, "it may have ended; ps -e lists what runs")
        }
        false => e.into(),
    })?;
    let pid = crate::procfs::pid_memory::parse(&status).ok().and_then(|status| status.process).unwrap_or(pid);
    // Numbers wrap around: a child may have a lower one, and the process that was asked for is to stand first.
    let descendants = scan::read(root).map(|scan| scan.tree(pid)).unwrap_or_default();
    let pids = std::iter::once(pid).chain(descendants.into_iter().filter(|other| *other != pid)).collect();
    Ok(FoundServer { pids, unit: None, cgroup: None })
}

/// The processes of a cgroup, by its directory or by its path within a hierarchy.
fn of_cgroup(root: &Root, asked: &str) -> Result<FoundServer, Fault> {
    let object = format!("cgroup {asked}");
    let asked = asked.trim_end_matches('/');
    let mounts = cgroup_tree::trees(mounts::read(root)?);
    // In version 1 every controller has a tree of its own; that of the manager is the likeliest to be meant.
    let hierarchies = cgroup_tree::managed(&mounts).into_iter().chain(&mounts);
    let in_hierarchies = hierarchies.map(|mount| format!("{}{}", mount.point, below(mount, asked)));
    let places = std::iter::once(asked.to_string()).chain(in_hierarchies);
    for directory in places {
        match cgroup_tree::processes(root, &directory) {
            Ok(pids) => return held(pids, &object, directory, None),
            Err(e) if e.is_absent() => {}
            Err(e) => return Err(e.into()),
        }
    }
    Err(Fault::new(
        Class::MachineLacks,
        object,
        "there is no such cgroup",
        "systemd-cgls(1) shows those that are there",
    ))
}

/// The processes of a unit, which systemd keeps in a cgroup of its name.
fn of_unit(root: &Root, asked: &str) -> Result<FoundServer, Fault> {
    let object = format!("unit {asked}");
    let mounts = mounts::read(root).map_err(|e| match e.is_absent() {
        true => Fault::new(Class::MachineLacks, &object, &e, "give the number of a process"),
        false => e.into(),
    })?;
    let mounts = cgroup_tree::trees(mounts);
    let mut all: Vec<(String, String, &Mount)> = Vec::new();
    for mount in cgroup_tree::managed(&mounts) {
        let found_before = all.len();
        cgroup_tree::walk(root, mount, |path, name| {
            if kind(name).is_some() {
                all.push((unescaped(name).to_string(), path.to_string(), mount));
            }
            // Units lie in slices, and in the manager of a user; what a service makes below itself is its own.
            is_slice(name)
        });
        // Both versions hold the same tree where both are mounted.
        if all.len() > found_before {
            break;
        }
    }
    let names: Vec<String> = match kind(asked) {
        Some(_) => vec![asked.to_string()],
        None => KINDS.iter().map(|kind| format!("{asked}{kind}")).collect(),
    };
    for name in names {
        let mut found = all.iter().filter(|(unit, _, _)| *unit == name);
        match (found.next(), found.next()) {
            (Some((unit, path, mount)), None) => {
                let directory = format!("{}{}", mount.point, below(mount, path));
                let pids = cgroup_tree::processes(root, &directory)?;
                return held(pids, &format!("unit {unit}"), directory, Some(unit.clone()));
            }
            (Some((_, one, _)), Some((_, other, _))) => {
                let cause = format!("there are several of this name: {one}, {other}");
                return Err(Fault::new(
                    Class::Usage,
                    object,
                    cause,
                    "give the path of the one that is meant",
                ));
            }
            (None, _) => {}
        }
    }
    let units: Vec<&str> = all.iter().map(|(unit, _, _)| unit.as_str()).collect();
    Err(no_such_unit(root, asked, &units))
}

/// The path as the mount shows it.
fn below<'a>(mount: &Mount, path: &'a str) -> &'a str {
    path.strip_prefix(mount.root.trim_end_matches('/')).unwrap_or(path)
}

fn held(pids: Vec<u32>, object: &str, directory: String, unit: Option<String>) -> Result<FoundServer, Fault> {
    match pids.is_empty() {
        true => Err(Fault::new(
            Class::MachineLacks,
            object,
            format!("no process is in {directory}"),
            "start it, or give the number of a process",
        )),
        false => Ok(FoundServer { pids, unit, cgroup: Some(directory) }),
    }
}

fn kind(name: &str) -> Option<&'static str> {
    KINDS.into_iter().find(|kind| name.len() > kind.len() && name.ends_with(kind))
}

pub(super) fn is_slice(name: &str) -> bool {
    name.ends_with(".slice") || name.starts_with("user@") && name.ends_with(".service")
}

/// systemd puts `_` before names that could be taken for control files (`_cpu.service`).
pub(crate) fn unescaped(name: &str) -> &str {
    name.strip_prefix('_').unwrap_or(name)
}

/// Says so, with units of nearly that name and processes of that name.
fn no_such_unit(root: &Root, asked: &str, units: &[&str]) -> Fault {
    let object = format!("unit {asked}");
    let bare = kind(asked).map_or(asked, |kind| &asked[..asked.len() - kind.len()]);
    let near = near(bare, units);
    let running = scan::read(root).map(|scan| called(&scan, bare)).unwrap_or_default();
    let cause = match units.is_empty() {
        true => "no unit runs here: this system is not run by systemd, or its cgroups cannot be seen",
        false => "no running unit has this name",
    };
    let remedy = match (near.is_empty(), running.is_empty()) {
        (false, _) => format!("near it: {}", near.join(", ")),
        (true, false) => format!("give the number of a process that is called so: {}", running.join(", ")),
        (true, true) => "give the number of a process; systemctl list-units shows the units".into(),
    };
    Fault::new(Class::MachineLacks, object, cause, remedy)
}

/// Processes of this name that are nobody's child of the same name: masters rather than workers.
fn called(scan: &Scan, name: &str) -> Vec<String> {
    let called = scan.seen.iter().filter(|seen| seen.comm == name && !seen.kernel);
    let masters = called.filter(|seen| scan.process(seen.ppid).is_none_or(|parent| parent.comm != name));
    masters.take(MOST_OFFERED).map(|seen| seen.pid.to_string()).collect()
}

/// Units whose names hold the word, or differ from it by a third of its letters at most; the nearest first.
fn near(word: &str, units: &[&str]) -> Vec<String> {
    let word = word.to_lowercase();
    let far = |unit: &str| {
        let unit = unit.to_lowercase();
        let bare = kind(&unit).map_or(unit.as_str(), |kind| &unit[..unit.len() - kind.len()]);
        let distance = distance(&word, bare);
        match !word.is_empty() && bare.contains(&word) {
            true => Some((0, distance)),
            false => (distance <= word.chars().count().div_ceil(3)).then_some((1, distance)),
        }
    };
    let mut found: Vec<_> = units.iter().filter_map(|unit| Some((far(unit)?, *unit))).collect();
    found.sort();
    found.dedup();
    found.into_iter().take(MOST_OFFERED).map(|(_, unit)| unit.to_string()).collect()
}

/// How many letters must be put in, taken out or changed (Levenshtein 1966).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().take(256).collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, left) in a.chars().take(256).enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, right) in b.iter().enumerate() {
            let changed = diagonal + usize::from(left != *right);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::super::scan::tests::stat;
    use super::*;
    use crate::Tree;

    const V2: &str = "/sys/fs/cgroup";

    fn v2() -> Tree {
        Tree::new()
            .file("/proc/self/mountinfo", "1 0 0:1 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n")
            .file(&format!("{V2}/cgroup.procs"), "")
            .file(&format!("{V2}/system.slice/cgroup.procs"), "")
            .file(&format!("{V2}/system.slice/nginx.service/cgroup.procs"), "700\n")
            .file(&format!("{V2}/system.slice/nginx.service/workers/cgroup.procs"), "702\n701\n")
            .file(
                &format!("{V2}/system.slice/system-postgresql.slice/postgresql@15-main.service/cgroup.procs"),
                "800\n",
            )
            .file(&format!("{V2}/system.slice/_cpu.service/cgroup.procs"), "810\n")
            .file(&format!("{V2}/system.slice/empty.service/cgroup.procs"), "")
            .file(
                &format!("{V2}/user.slice/user-1.slice/user@1.service/app.slice/x.service/cgroup.procs"),
                "900\n",
            )
            .file(
                &format!("{V2}/user.slice/user-2.slice/user@2.service/app.slice/x.service/cgroup.procs"),
                "901\n",
            )
    }

    fn pids(tree: &Tree, asked: &str) -> Vec<u32> {
        find(&Root::from_tree(tree.clone()), asked).unwrap().pids
    }

    fn refused(tree: &Tree, asked: &str) -> Fault {
        find(&Root::from_tree(tree.clone()), asked).unwrap_err()
    }

    #[test]
    fn units_of_version_2_with_and_without_their_kind_and_cgroups_by_both_paths() {
        let tree = v2();
        for asked in [
            "nginx",
            "nginx.service",
            "/system.slice/nginx.service",
            "/sys/fs/cgroup/system.slice/nginx.service/",
        ] {
            assert_eq!(pids(&tree, asked), [700, 701, 702], "{asked}");
        }
        assert_eq!(pids(&tree, "cpu.service"), [810]);
        assert_eq!(pids(&tree, "postgresql@15-main"), [800]);
        let found = find(&Root::from_tree(tree), "nginx").unwrap();
        assert_eq!(found.unit.as_deref(), Some("nginx.service"));
        assert_eq!(found.cgroup.as_deref(), Some("/sys/fs/cgroup/system.slice/nginx.service"));
    }

    #[test]
    fn units_of_version_1_are_in_the_hierarchy_of_systemd() {
        let tree = Tree::new()
            .file(
                "/proc/self/mountinfo",
                "1 0 0:1 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n2 0 0:2 / /sys/fs/cgroup/unified rw - cgroup2 c rw\n\
                 3 0 0:3 / /sys/fs/cgroup/systemd rw - cgroup cgroup rw,xattr,name=systemd\n",
            )
            .file("/sys/fs/cgroup/cpu/system.slice/slapd.service/cgroup.procs", "1\n")
            .file("/sys/fs/cgroup/systemd/system.slice/slapd.service/cgroup.procs", "55\n")
            .file("/sys/fs/cgroup/unified/system.slice/slapd.service/cgroup.procs", "55\n");
        assert_eq!(pids(&tree, "slapd"), [55]);
        let tree = tree.file("/sys/fs/cgroup/cpu/jobs/7/cgroup.procs", "77\n");
        assert_eq!(pids(&tree, "/jobs/7"), [77], "a cgroup of one controller only");
    }

    #[test]
    fn a_unit_that_is_not_there_gets_near_names() {
        let fault = refused(&v2(), "postgresql");
        assert_eq!(fault.class, Class::MachineLacks);
        assert!(fault.remedy.contains("postgresql@15-main.service"), "{fault}");
        assert!(refused(&v2(), "ngnix.service").remedy.contains("near it: nginx.service"));
        assert!(refused(&v2(), "oracle").remedy.contains("number of a process"));
        let fault = refused(&v2(), "x");
        assert!(fault.class == Class::Usage && fault.cause.contains("user@1.service"), "{fault}");
        assert!(refused(&v2(), "empty").cause.contains("no process is in"));
        assert!(refused(&v2(), "/system.slice/none").cause.contains("no such cgroup"));
        let without_systemd = Tree::new()
            .file("/proc/self/mountinfo", "1 0 0:1 / /c rw - cgroup2 c rw\n")
            .file("/proc/700/stat", stat(700, "redis-server", 1, 0));
        let fault = refused(&without_systemd, "redis-server");
        assert!(fault.cause.contains("not run by systemd") && fault.remedy.contains("700"), "{fault}");
    }

    #[test]
    fn a_number_means_the_tree_below_it_and_a_thread_means_its_process() {
        let tree = v2()
            .file("/proc/700/stat", stat(700, "nginx", 1, 0))
            .file("/proc/700/status", "Tgid:\t700\n")
            .file("/proc/701/stat", stat(701, "nginx", 700, 0))
            .file("/proc/701/status", "Tgid:\t701\n")
            .file("/proc/709/status", "Name:\tnginx\nTgid:\t700\n");
        assert_eq!(pids(&tree, "700"), [700, 701]);
        assert_eq!(pids(&tree, "701"), [701]);
        assert_eq!(pids(&tree, "709"), [700, 701]);
        let wrapped = tree.clone().file("/proc/90/stat", stat(90, "nginx", 701, 0));
        assert_eq!(pids(&wrapped, "700"), [700, 90, 701]);
        assert_eq!(refused(&tree, "12").class, Class::MachineLacks);
        assert_eq!(refused(&tree, "0").class, Class::Usage);
        assert_eq!(refused(&tree, "99999999999").class, Class::Usage);
        assert_eq!(refused(&tree, " ").class, Class::Usage);
        assert_eq!(refused(&tree.denied("/proc/700/status"), "700").class, Class::NotPermitted);
    }

    #[test]
    fn distances_between_words() {
        assert_eq!((distance("nginx", "nginx"), distance("ngnix", "nginx"), distance("", "abc")), (0, 2, 3));
        assert_eq!(distance("slapd", "slap"), 1);
    }

    proptest::proptest! {
        #[test]
        fn no_name_makes_it_panic(asked in ".{0,20}", word in "[a-z@.]{0,12}") {
            let _ = find(&Root::from_tree(v2()), &asked);
            let _ = find(&Root::from_tree(v2()), &word);
        }
    }
}
