//! Which processes are meant: a number, a systemd unit, a cgroup, a container, a guest, a pod.

mod by_name;

use super::cgroup_tree;
use super::scan::{self, Scan};
use super::unit_name::{KINDS, is_slice, kind, unescaped};
use crate::limits::mounts::{self, Mount};
use crate::{Class, Fault, Root};

/// Most names that are offered for one that is not there.
const MOST_OFFERED: usize = 5;

const NO_PROCESS: &str = "there is no such process";

/// Said where nothing is called so.
const FORMS: &str = "a server is named by the number of a process, a unit, the path of a cgroup, the id of a container (its first 8 \
    digits at least), the name of a guest, or the UID, name or namespace/name of a Kubernetes pod";

/// What was asked for, found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundServer {
    /// Processes by number; one that was asked for itself comes first.
    pub pids: Vec<u32>,
    /// The systemd unit, if one was asked for.
    pub unit: Option<String>,
    /// Directory of the cgroup, if one was asked for, or a unit, container or pod, which have one.
    pub cgroup: Option<String>,
}

/// Finds the processes of `asked`: a process number, a path of a cgroup (it begins with `/`), a unit's name with or
/// without its kind, a container by its id (its first 8 digits at least) or name, a guest by its name, a Kubernetes pod of this node by its UID (8
/// characters of it at least), its name or `NAMESPACE/NAME`, the only process of that name.
/// What is both a unit and something else is the unit.
///
/// # Errors
/// No such process, unit, cgroup, container, guest or pod, with near names; several of the name, which are named; refused files.
pub fn find(root: &Root, asked: &str) -> Result<FoundServer, Fault> {
    let asked = asked.trim();
    match asked {
        "" => {
            Err(Fault::new(Class::Usage, "server", "no process is named", "give a process number or a unit"))
        }
        // No process has a number of 8 digits (PID_MAX_LIMIT of include/linux/threads.h), and an id may have no letters in it.
        _ if asked.bytes().all(|byte| byte.is_ascii_digit()) => match by_name::is_beginning_of_id(asked) {
            true => by_name::find(root, asked)?.map_or_else(|| of_process(root, asked), Ok),
            false => of_process(root, asked),
        },
        _ if asked.starts_with('/') => of_cgroup(root, asked),
        _ => match of_unit(root, asked) {
            Err(fault) if fault.class == Class::MachineLacks => match by_name::find(root, asked)? {
                Some(found) => Ok(found),
                None => of_command(root, asked, fault),
            },
            found => found,
        },
    }
}

/// The only process whose command is called so, with its descendants; workers of a master of the same name are the master's.
fn of_command(root: &Root, asked: &str, nothing: Fault) -> Result<FoundServer, Fault> {
    // The kernel keeps 15 bytes of the name (TASK_COMM_LEN).
    let name =
        asked.char_indices().find(|(at, c)| at + c.len_utf8() > 15).map_or(asked, |(at, _)| &asked[..at]);
    let running = scan::read(root).map(|scan| called(&scan, name)).unwrap_or_default();
    match running.as_slice() {
        [] => Err(nothing),
        [pid] => of_process(root, pid),
        several => {
            let cause = format!("there are several processes of this name: {}", several.join(", "));
            Err(Fault::new(
                Class::Usage,
                format!("process {asked}"),
                cause,
                "give the number of the one that is meant",
            ))
        }
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
    Ok(FoundServer { pids: with_descendants(root, pid), unit: None, cgroup: None })
}

/// The process, then those that descend from it.
fn with_descendants(root: &Root, pid: u32) -> Vec<u32> {
    let descendants = scan::read(root).map(|scan| scan.tree(pid)).unwrap_or_default();
    std::iter::once(pid).chain(descendants.into_iter().filter(|other| *other != pid)).collect()
}

/// The processes of a cgroup, by its directory or by its path within a hierarchy.
fn of_cgroup(root: &Root, asked: &str) -> Result<FoundServer, Fault> {
    let object = format!("cgroup {asked}");
    let asked = asked.trim_end_matches('/');
    let mounts = cgroup_tree::trees(mounts::read(root)?);
    // In version 1 every controller has a tree of its own; that of the manager is the likeliest to be meant.
    let hierarchies = cgroup_tree::managed(&mounts).into_iter().chain(&mounts);
    let in_hierarchies = hierarchies.map(|mount| cgroup_tree::directory(mount, asked));
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
                let directory = cgroup_tree::directory(mount, path);
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

/// Says so, with units, guests and pods of nearly that name and processes of that name.
fn no_such_unit(root: &Root, asked: &str, units: &[&str]) -> Fault {
    let object = if kind(asked).is_some() { format!("unit {asked}") } else { format!("server {asked}") };
    let bare = kind(asked).map_or(asked, |kind| &asked[..asked.len() - kind.len()]);
    let others = by_name::names(root);
    let known: Vec<&str> = units.iter().copied().chain(others.iter().map(String::as_str)).collect();
    let near = near(bare, &known);
    let running = scan::read(root).map(|scan| called(&scan, bare)).unwrap_or_default();
    let cause = match units.is_empty() {
        true => {
            "no container, guest or pod has this name, and no unit runs here: this system is not run by systemd, or its cgroups \
            cannot be seen"
        }
        false => "no running unit, container, guest or pod has this name",
    };
    let remedy = match (near.is_empty(), running.is_empty()) {
        (false, _) => format!("near it: {}; {FORMS}", near.join(", ")),
        (true, false) => {
            format!("give the number of a process that is called so: {}; {FORMS}", running.join(", "))
        }
        (true, true) => {
            format!("{FORMS}; 'pinwise map' shows containers and guests, and each container's pod")
        }
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
mod tests;
