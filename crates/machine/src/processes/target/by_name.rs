//! Containers by their id or name, guests by their name, pods by their UID or name, jobs of Slurm by their number.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use super::{FoundServer, MOST_OFFERED, held, with_descendants};
use crate::limits::mounts;
use crate::processes::cgroup_tree;
use crate::processes::containers::{self, Place};
use crate::processes::guests::{self, Guest};
use crate::processes::job;
use crate::processes::pods::{self, Pod};
use crate::root::CONTAINER_NAME;
use crate::{Class, Fault, Root};

/// Fewer digits of an id could be a word, or the number of a process.
const FEWEST_DIGITS: usize = 8;

/// A container: its cgroup in each hierarchy that has one.
type Same<'a> = Vec<&'a Place>;

/// What of this machine has a name or an id. What engines call their containers is read only when it is needed, and once: they keep a
/// file for each.
pub(super) struct Named<'a> {
    root: &'a Root,
    places: Vec<Place>,
    pods: Vec<Pod>,
    /// What engines call the containers of `places`, in their order.
    by_engines: OnceCell<Vec<Option<String>>>,
}

impl<'a> Named<'a> {
    pub(super) fn read(root: &'a Root) -> Self {
        // Without mounts there are no containers, and guests are found in /proc.
        let mounts = mounts::read(root).map(cgroup_tree::trees).unwrap_or_default();
        let (places, pods) = (containers::places(root, &mounts), pods::running(root, &mounts));
        Self { root, places, pods, by_engines: OnceCell::new() }
    }

    /// The one container, guest or pod that is called so; `None` where none is.
    ///
    /// # Errors
    /// Several are, which are named; none of its processes is there; refused files.
    pub(super) fn find(&self, asked: &str) -> Result<Option<FoundServer>, Fault> {
        let root = self.root;
        let mut containers = of_id(&self.places, asked);
        if containers.is_empty() {
            containers = self.of_engine_name(asked);
        }
        // Digits that begin an id are no name, and a pass over /proc is spared.
        let by_id = containers.iter().flatten().any(|place| place.has_id());
        let guests = if by_id { Vec::new() } else { named(root, asked)? };
        let pods: Vec<&Pod> = self.pods.iter().filter(|pod| pod.is_called(asked)).collect();
        match (containers.as_slice(), guests.as_slice(), pods.as_slice()) {
            ([], [], []) => Ok(None),
            ([container], [], []) => processes_of(root, container).map(Some),
            ([], [guest], []) => Ok(Some(FoundServer::of_pids(with_descendants(root, guest.pid)))),
            ([], [], [pod]) => {
                let (pids, directory) = pod.processes(root)?;
                held(pids, &pod.words(), directory, None).map(Some)
            }
            _ => Err(several(asked, &containers, &guests, &pods)),
        }
    }

    /// The names of the guests, pods and containers that run.
    pub(super) fn names(&self) -> Vec<String> {
        let guests = guests::find(self.root).unwrap_or_default().into_iter().filter_map(|guest| guest.name);
        let pods = self.pods.iter().filter_map(|pod| Some(pod.name.as_ref()?.1.clone()));
        guests.chain(pods).chain(self.by_engines().iter().flatten().cloned()).collect()
    }

    /// The containers whose engine calls them so.
    fn of_engine_name(&self, asked: &str) -> Vec<Same<'_>> {
        let mut found: Vec<Same<'_>> = Vec::new();
        for (place, name) in self.places.iter().zip(self.by_engines()) {
            match found.iter_mut().find(|container| container[0].id == place.id) {
                Some(container) => container.push(place),
                None if name.as_deref() == Some(asked) => found.push(vec![place]),
                None => {}
            }
        }
        found
    }

    fn by_engines(&self) -> &[Option<String>] {
        self.by_engines.get_or_init(|| {
            // A container is in several hierarchies.
            let mut known: BTreeMap<(&str, &str), Option<String>> = BTreeMap::new();
            let names = self.places.iter().map(|place| {
                let of = (place.runtime, place.id.as_str());
                known.entry(of).or_insert_with(|| engine_name(self.root, place)).clone()
            });
            names.collect()
        })
    }
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

/// What its engine calls a container whose cgroup has an id alone; `None` where that cannot be read.
fn engine_name(root: &Root, place: &Place) -> Option<String> {
    let is_named = place.has_id() && matches!(place.runtime, "docker" | "podman");
    let fact = is_named.then(|| format!("{CONTAINER_NAME}{} {}", place.runtime, place.id))?;
    root.fact(&fact).ok().filter(|name| !name.is_empty())
}

/// The job of Slurm of this number.
///
/// # Errors
/// There is none on this node, with those that are; none of its processes is there; refused files.
pub(super) fn job(root: &Root, number: u32) -> Result<FoundServer, Fault> {
    let object = format!("Slurm job {number}");
    let mounts = mounts::read(root).map(cgroup_tree::trees).unwrap_or_default();
    let jobs = job::running(root, &mounts);
    let Some(directories) = jobs.get(&number) else {
        let others: Vec<String> = jobs.keys().take(2 * MOST_OFFERED).map(u32::to_string).collect();
        let remedy = match others.is_empty() {
            true => "no job of Slurm has a cgroup here: 'squeue -w NODE' lists those of a node".to_string(),
            false => format!("jobs here: {}", others.join(", ")),
        };
        return Err(Fault::new(Class::MachineLacks, object, "there is no such job on this node", remedy));
    };
    let (pids, directory) = job::processes(root, directories)?;
    held(pids, &object, directory, None)
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

fn several(asked: &str, containers: &[Same<'_>], guests: &[Guest], pods: &[&Pod]) -> Fault {
    let containers = containers.iter().map(|same| format!("{} {}", same[0].runtime, same[0].cgroup));
    let guests = guests.iter().map(|guest| format!("guest of process {}", guest.pid));
    let all: Vec<String> = containers.chain(guests).chain(pods.iter().map(|pod| pod.words())).collect();
    let more = all.len().saturating_sub(2 * MOST_OFFERED);
    let mut cause = format!("there are several of this name: {}", all[..all.len() - more].join(", "));
    if more > 0 {
        cause = format!("{cause}, and {more} more");
    }
    let remedy = "give more digits of the id, NAMESPACE/NAME of the pod, the path of the cgroup you mean, or the number of the process";
    Fault::new(Class::Usage, format!("server {asked}"), cause, remedy)
}
