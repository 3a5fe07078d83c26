//! The load of a trial while it runs: a process of this host, or processes of others.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use hosts::{LoadHosts, Via};
use load::children::CpuTime;
use load::{LoadSpec, Outcome, Running, monotonic_ns};
use machine::devices::path::{self, NetworkPath, PathEnd};
use machine::{Class, Fault, OwnFolder, ProcessRef, Root};

use super::conclusion::write_json;
use crate::facts::path_file;
use crate::recipe::Recipe;

/// A load that runs.
pub(super) enum Driving<'a> {
    /// On this host.
    Here(Box<Running>),
    /// On others.
    Elsewhere(&'a mut LoadHosts),
}

impl Driving<'_> {
    /// As [`Running::poll`].
    pub(super) fn poll(&mut self) -> Option<Result<Outcome, Fault>> {
        match self {
            Self::Here(running) => running.poll(),
            Self::Elsewhere(hosts) => hosts.poll(),
        }
    }

    /// As [`Running::wait`].
    pub(super) fn wait(&mut self, at_most: Duration) {
        match self {
            Self::Here(running) => running.wait(at_most),
            Self::Elsewhere(hosts) => hosts.wait(at_most),
        }
    }

    /// As [`Running::stop`].
    pub(super) fn stop(self) -> Result<(), Fault> {
        match self {
            Self::Here(running) => running.stop(),
            Self::Elsewhere(hosts) => {
                hosts.stop();
                Ok(())
            }
        }
    }

    /// When it sent its first request, CLOCK_MONOTONIC ns, once it has; where it does not say, when it was started.
    pub(super) fn began_ns(&self, load: &LoadSpec) -> Option<u64> {
        match self {
            Self::Here(running) if load.announces_its_start() => running.began_ns(),
            Self::Here(running) => Some(running.started_ns()),
            Self::Elsewhere(hosts) => hosts.start_ns().filter(|start_ns| *start_ns <= monotonic_ns()),
        }
    }

    /// Its first process, of a load on this host.
    pub(super) fn process(&self) -> Option<ProcessRef> {
        match self {
            Self::Here(running) => Some(running.process()),
            Self::Elsewhere(_) => None,
        }
    }
}

/// Where the server is to listen, so that the hosts reach it: as the recipe says; of a loopback address, the address of this host that
/// they see, unless all of them are on this host.
///
/// # Errors
/// They see none, or different ones.
pub(super) fn address(recipe: &Recipe, hosts: &LoadHosts) -> Result<IpAddr, Fault> {
    let asked = recipe.server.address;
    let is_here = |host: &hosts::HostSpec| host.via == Via::Local && host.netns.is_none();
    if !asked.is_loopback() || recipe.hosts.iter().all(is_here) {
        return Ok(asked);
    }
    hosts.own_address().ok_or_else(|| {
        let cause = format!(
            "other hosts do not reach {asked}, and they do not agree by which address they reach this one"
        );
        Fault::new(
            Class::Usage,
            "server.address",
            cause,
            "give the address of this host that they reach: --address IP",
        )
    })
}

/// Keeps in `folder` how the server's host and each of the others reach each other, where that is not kept yet. Where it is not known by
/// which address the server is reached, nothing is: the first trial says why.
///
/// # Errors
/// A host is lost; a file cannot be written.
pub(super) fn keep_paths(hosts: &mut LoadHosts, recipe: &Recipe, folder: &OwnFolder) -> Result<(), Fault> {
    let Ok(address) = address(recipe, hosts) else { return Ok(()) };
    let server = SocketAddr::new(address, recipe.server.port.unwrap_or_default());
    let ends = hosts.paths(|host| !folder.holds(&path_file(host)), server)?;
    if ends.is_empty() {
        return Ok(());
    }
    let here = recipe.server.netns.as_deref().map_or_else(|| Ok(Root::live()), Root::live_in_netns);
    for (host, load) in ends {
        let server = match (&here, load.local) {
            (Ok(root), Some(there)) => path::read(root, there),
            (Ok(_), None) => {
                PathEnd::unknown("the host does not know by which address it reaches the server")
            }
            (Err(fault), _) => PathEnd::unknown(fault),
        };
        let name = path_file(&host);
        let json = serde_json::to_vec_pretty(&NetworkPath { host, server, load }).map_err(|e| {
            let place = folder.path().join(&name);
            Fault::new(Class::Storage, place.display(), e, machine::IS_A_BUG)
        })?;
        keep(folder, &name, &json)?;
    }
    Ok(())
}

/// Keeps a file of the case's folder for hosts.
///
/// # Errors
/// It cannot be written.
pub(super) fn keep(folder: &OwnFolder, name: &str, bytes: &[u8]) -> Result<(), Fault> {
    let written = folder.replace(name, bytes);
    written.map_err(|e| Fault::io(folder.path().join(name).display(), &e, "free some space"))
}

/// CPU time of the load's processes that run under this kernel all the same, as those of hosts that are namespaces: it is nobody else's.
/// Taken for user time, of which most is.
pub(super) fn cpu_time_here(hosts: &LoadHosts, root: &Root) -> CpuTime {
    let own = root.read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let here: Vec<&str> = hosts
        .connected()
        .filter(|one| one.hello().boot_id == own.trim())
        .map(|one| one.host().name.as_str())
        .collect();
    let of_here = hosts.seen().iter().filter(|part| here.contains(&part.host.as_str()));
    CpuTime { user_s: of_here.filter_map(|part| part.client_cpu_s).sum(), system_s: 0.0 }
}

/// Writes what was seen of each process of the load beside the trial.
///
/// # Errors
/// The file cannot be written.
pub(super) fn write_seen(hosts: &LoadHosts, dir: &OwnFolder) -> Result<(), Fault> {
    write_json(dir, "hosts.json", &hosts.seen())
}
