//! Containers by their id or name, guests by their name, pods by their UID or name.

use std::collections::BTreeSet;

use super::{FoundServer, MOST_OFFERED, held, with_descendants};
use crate::limits::mounts;
use crate::processes::cgroup_tree;
use crate::processes::containers::{self, Place};
use crate::processes::guests::{self, Guest};
use crate::processes::pods::{self, Pod};
use crate::{Class, Fault, Root};

/// Fewer digits of an id could be a word, or the number of a process.
const FEWEST_DIGITS: usize = 8;

/// A container: its cgroup in each hierarchy that has one.
type Same<'a> = Vec<&'a Place>;

/// The one container, guest or pod that is called so; `None` where none is.
///
/// # Errors
/// Several are, which are named; none of its processes is there; refused files.
pub(super) fn find(root: &Root, asked: &str) -> Result<Option<FoundServer>, Fault> {
    // Without mounts there are no containers, and guests are found in /proc.
    let mounts = mounts::read(root).map(cgroup_tree::trees).unwrap_or_default();
    let places = containers::places(root, &mounts);
    let containers = of_id(&places, asked);
    // Digits that begin an id are no name, and a pass over /proc is spared.
    let by_id = containers.iter().flatten().any(|place| place.has_id());
    let guests = if by_id { Vec::new() } else { named(root, asked)? };
    let mut pods = pods::running(root, &mounts);
    pods.retain(|pod| pod.is_called(asked));
    match (containers.as_slice(), guests.as_slice(), pods.as_slice()) {
        ([], [], []) => Ok(None),
        ([container], [], []) => processes_of(root, container).map(Some),
        ([], [guest], []) => {
            Ok(Some(FoundServer { pids: with_descendants(root, guest.pid), unit: None, cgroup: None }))
        }
        ([], [], [pod]) => {
            let (pids, directory) = pod.processes(root)?;
            held(pids, &pod.words(), directory, None).map(Some)
        }
        _ => Err(several(asked, &containers, &guests, &pods)),
    }
}

/// The names of the guests and pods that run.
pub(super) fn names(root: &Root) -> Vec<String> {
    let guests = guests::find(root).unwrap_or_default().into_iter().filter_map(|guest| guest.name);
    let mounts = mounts::read(root).map(cgroup_tree::trees).unwrap_or_default();
    let pods = pods::running(root, &mounts).into_iter().filter_map(|pod| Some(pod.name?.1));
    guests.chain(pods).collect()
}

/// Whether it can be the beginning of a container's id.
pub(super) fn is_beginning_of_id(asked: &str) -> bool {
    asked.len() >= FEWEST_DIGITS && asked.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn of_id<'a>(places: &'a [Place], asked: &str) -> Vec<Same<'a>> {
    let digits = is_beginning_of_id(asked).then(|| asked.to_ascii_lowercase());
    let begins = |place: &Place| {
        let digits = digits.as_ref().filter(|_| place.has_id());
        digits.is_some_and(|digits| place.id.to_ascii_lowercase().starts_with(digits.as_str()))
    };
    let mut found: Vec<Same<'a>> = Vec::new();
    for place in places.iter().filter(|place| place.id == asked || begins(place)) {
        let same = |other: &&mut Same<'a>| other[0].id == place.id && other[0].runtime == place.runtime;
        match found.iter_mut().find(same) {
            Some(container) => container.push(place),
            None => found.push(vec![place]),
        }
    }
    found
}

fn named(root: &Root, asked: &str) -> Result<Vec<Guest>, Fault> {
    let mut guests = guests::find(root)?;
    guests.retain(|guest| guest.name.as_deref() == Some(asked));
    if guests.len() > 1 {
        // A process that forked is called as its parent and has the same arguments, until it runs another program.
        let started: BTreeSet<u32> =
            guests.iter().flat_map(|guest| with_descendants(root, guest.pid).into_iter().skip(1)).collect();
        guests.retain(|guest| !started.contains(&guest.pid));
    }
    Ok(guests)
}

fn processes_of(root: &Root, container: &Same<'_>) -> Result<FoundServer, Fault> {
    let directories: Vec<String> = container.iter().map(|place| place.directory.clone()).collect();
    let (pids, directory) = cgroup_tree::first_with_processes(root, &directories)?;
    held(pids, &format!("container {}", container[0].id), directory, None)
}

fn several(asked: &str, containers: &[Same<'_>], guests: &[Guest], pods: &[Pod]) -> Fault {
    let containers = containers.iter().map(|same| format!("{} {}", same[0].runtime, same[0].cgroup));
    let guests = guests.iter().map(|guest| format!("guest of process {}", guest.pid));
    let all: Vec<String> = containers.chain(guests).chain(pods.iter().map(Pod::words)).collect();
    let more = all.len().saturating_sub(2 * MOST_OFFERED);
    let mut cause = format!("there are several of this name: {}", all[..all.len() - more].join(", "));
    if more > 0 {
        cause = format!("{cause}, and {more} more");
    }
    let remedy = "give more digits of the id, NAMESPACE/NAME of the pod, the path of the cgroup that is meant, or the number of the process";
    Fault::new(Class::Usage, format!("server {asked}"), cause, remedy)
}
