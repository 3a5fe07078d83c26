//! Which processes are meant: a number, a name, a systemd unit, a cgroup, a container, a guest, a pod, a job of Slurm.

mod by_command;
mod by_name;

use super::unit_name::{KINDS, is_slice, kind, unescaped};
use super::{cgroup_tree, job, scan};
use crate::limits::mounts::{self, Mount};
use crate::{Class, Fault, ReadError, Root};
use by_name::Named;

/// Most names that are offered for one that is not there.
const MOST_OFFERED: usize = 5;

const NO_PROCESS: &str = "there is no such process";

/// Said where nothing is called so.
const FORMS: &str = "name a server by a process number, a process name (all:NAME for every process of that name), a unit, the path of a \
    cgroup, the id of a container (at least its first 8 digits) or its name in Docker or Podman, the name of a guest, the UID, name or \
    namespace/name of a Kubernetes pod, or job:NUMBER for a Slurm job";

/// What was asked for, found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundServer {
    /// Processes by number; one that was asked for itself comes first.
    pub pids: Vec<u32>,
    /// The systemd unit, if one was asked for.
    pub unit: Option<String>,
    /// Directory of the cgroup, if one was asked for, or a unit, container, pod or job, which have one.
    pub cgroup: Option<String>,
    /// Whether all processes of a name were asked for: one that is started later belongs to them.
    pub by_name: bool,
}

impl FoundServer {
    /// Processes that nothing but their numbers holds together.
    fn of_pids(pids: Vec<u32>) -> Self {
        Self { pids, unit: None, cgroup: None, by_name: false }
    }
}

/// Finds the processes of `asked`: a process number, a path of a cgroup, a unit's name with or without its kind, a container by its id (its
/// first 8 digits at least) or name, a guest by its name, a Kubernetes pod of this node by its UID (8 characters of it at least), its name
/// or `NAMESPACE/NAME`, a job of Slurm by `job:NUMBER`, the only process of that name, all processes of a name by `all:NAME`.
/// What is both a unit and something else is the unit; a path without its first slash is one where nothing else is called so.
///
/// # Errors
/// No such process, unit, cgroup, container, guest, pod or job, with near names; several of the name, which are named; refused files.
pub fn find(root: &Root, asked: &str) -> Result<FoundServer, Fault> {
    let asked = asked.trim();
    if let Some(name) = asked.strip_prefix(by_command::ALL) {
        return by_command::all(root, name.trim());
    }
    match asked {
        "" => {
            Err(Fault::new(Class::Usage, "server", "no process is named", "give a process number or a unit"))
        }
        // No process has a number of 8 digits (PID_MAX_LIMIT of include/linux/threads.h), and an id may have no letters in it.
        _ if asked.bytes().all(|byte| byte.is_ascii_digit()) => match by_name::is_beginning_of_id(asked) {
            true => Named::read(root).find(asked)?.map_or_else(|| of_process(root, asked), Ok),
            false => of_process(root, asked),
        },
        _ if asked.starts_with('/') => of_cgroup(root, asked),
        _ => match of_unit(root, asked) {
            Ok(found) => Ok(found),
            Err(NoUnit::Fault(fault)) if fault.class != Class::MachineLacks => Err(fault),
            Err(nothing) => of_any_other(root, asked, nothing),
        },
    }
}

/// Why no unit was found.
enum NoUnit {
    /// Something is wrong with it, or with all of them.
    Fault(Fault),
    /// None of those that run, which these are, is called so.
    NotAmong(Vec<String>),
}

impl From<Fault> for NoUnit {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault)
    }
}

impl From<ReadError> for NoUnit {
    fn from(error: ReadError) -> Self {
        Self::Fault(error.into())
    }
}

/// What is no unit. What is near its name is looked for only where it is nothing else either.
fn of_any_other(root: &Root, asked: &str, nothing: NoUnit) -> Result<FoundServer, Fault> {
    if let Some(number) = job::asked_for(asked) {
        return by_name::job(root, number);
    }
    let named = Named::read(root);
    if let Some(found) = named.find(asked)? {
        return Ok(found);
    }
    // The path of a cgroup, as programs print it that leave out its first slash.
    let as_path = asked.contains('/').then(|| cgroup_at(root, &format!("/{asked}"))).transpose()?;
    if let Some(found) = as_path.flatten() {
        return Ok(found);
    }
    match (by_command::only(root, asked)?, nothing) {
        (Some(found), _) => Ok(found),
        (None, NoUnit::Fault(fault)) => Err(fault),
        (None, NoUnit::NotAmong(units)) => Err(nothing_called(root, asked, &units, &named.names())),
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
    let status = root.read(format!("/proc/{pid}/status")).map_err(|e| match e.is_absent() {
        true => {
            Fault::new(Class::MachineLacks, &object, NO_PROCESS, "it may have ended; ps -e lists what runs")
        }
        false => e.into(),
    })?;
    let pid = crate::procfs::pid_memory::parse(&status).ok().and_then(|status| status.process).unwrap_or(pid);
    // Numbers wrap around: a child may have a lower one, and the process that was asked for is to stand first.
    Ok(FoundServer::of_pids(with_descendants(root, pid)))
}

/// The process, then those that descend from it.
fn with_descendants(root: &Root, pid: u32) -> Vec<u32> {
    let descendants = scan::read(root).map(|scan| scan.tree(pid)).unwrap_or_default();
    std::iter::once(pid).chain(descendants.into_iter().filter(|other| *other != pid)).collect()
}

/// The processes of a cgroup, by its directory or by its path within a hierarchy.
fn of_cgroup(root: &Root, asked: &str) -> Result<FoundServer, Fault> {
    cgroup_at(root, asked)?.ok_or_else(|| {
        Fault::new(
            Class::MachineLacks,
            format!("cgroup {asked}"),
            "there is no such cgroup",
            "systemd-cgls(1) lists the cgroups",
        )
    })
}

/// The same; `None` where there is no such cgroup.
fn cgroup_at(root: &Root, asked: &str) -> Result<Option<FoundServer>, Fault> {
    let object = format!("cgroup {asked}");
    let asked = asked.trim_end_matches('/');
    let mounts = cgroup_tree::trees(mounts::read(root)?);
    // In version 1 every controller has a tree of its own; that of the manager is the likeliest to be meant.
    let hierarchies = cgroup_tree::managed(&mounts).into_iter().chain(&mounts);
    let in_hierarchies = hierarchies.map(|mount| cgroup_tree::directory(mount, asked));
    let places = std::iter::once(asked.to_string()).chain(in_hierarchies);
    for directory in places {
        match cgroup_tree::processes(root, &directory) {
            Ok(pids) => return held(pids, &object, directory, None).map(Some),
            Err(e) if e.is_absent() => {}
            Err(e) => return Err(e.into()),
        }
    }
    Ok(None)
}

/// The processes of a unit, which systemd keeps in a cgroup of its name.
fn of_unit(root: &Root, asked: &str) -> Result<FoundServer, NoUnit> {
    let object = format!("unit {asked}");
    let mounts = mounts::read(root).map_err(|e| match e.is_absent() {
        true => Fault::new(Class::MachineLacks, &object, &e, "give the number of a process"),
        false => Fault::from(e),
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
                let found = held(pids, &format!("unit {unit}"), directory, Some(unit.clone()));
                return found.map_err(NoUnit::from);
            }
            (Some((_, one, _)), Some((_, other, _))) => {
                let cause = format!("there are several of this name: {one}, {other}");
                let remedy = "give the path of the one you mean";
                return Err(Fault::new(Class::Usage, object, cause, remedy).into());
            }
            (None, _) => {}
        }
    }
    Err(NoUnit::NotAmong(all.into_iter().map(|(unit, _, _)| unit).collect()))
}

fn held(pids: Vec<u32>, object: &str, directory: String, unit: Option<String>) -> Result<FoundServer, Fault> {
    match pids.is_empty() {
        true => Err(Fault::new(
            Class::MachineLacks,
            object,
            format!("no process is in {directory}"),
            "start it, or give the number of a process",
        )),
        false => Ok(FoundServer { unit, cgroup: Some(directory), ..FoundServer::of_pids(pids) }),
    }
}

/// Says so, with units, guests and pods (`others`) of nearly that name and processes of that name.
fn nothing_called(root: &Root, asked: &str, units: &[String], others: &[String]) -> Fault {
    let object = if kind(asked).is_some() { format!("unit {asked}") } else { format!("server {asked}") };
    let bare = kind(asked).map_or(asked, |kind| &asked[..asked.len() - kind.len()]);
    let known: Vec<&str> = units.iter().chain(others).map(String::as_str).collect();
    let near = near(bare, &known);
    let scan = scan::read(root).ok();
    let called = scan.as_ref().map(|scan| by_command::called(scan, bare)).unwrap_or_default();
    let running: Vec<String> = called.iter().take(MOST_OFFERED).map(|seen| seen.pid.to_string()).collect();
    let cause = match units.is_empty() {
        true => {
            "no container, guest or pod has this name, and no unit runs here: this system is not run by systemd, or its cgroups \
            cannot be seen"
        }
        false => "no running unit, container, guest or pod has this name",
    };
    let remedy = match (near.is_empty(), running.is_empty()) {
        (false, _) => format!("similar names: {}; {FORMS}", near.join(", ")),
        (true, false) => {
            format!("give the number of a process with that name: {}; {FORMS}", running.join(", "))
        }
        (true, true) => {
            format!("{FORMS}; 'pinwise map' shows containers and guests, and each container's pod")
        }
    };
    Fault::new(Class::MachineLacks, object, cause, remedy)
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
