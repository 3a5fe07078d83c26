//! What runs on the machine as far as it bears on placement: one server in full ([`server`]), guests, containers, the
//! programs that set affinities themselves, and the kernel's own threads.
//!
//! A pass over /proc reads one small file of each process (`stat`: name, parent, flags); only processes of interest
//! are looked at further. Arguments and environments are never read here, so that no capture has them: they hold secrets, and names
//! suffice. The one thing taken from arguments is the name of a guest, as a fact of its own (`guest_name`).

pub(crate) mod cgroup_tree;
pub mod containers;
mod cpu_times;
pub mod guests;
mod job;
pub mod kernel_threads;
mod listening;
pub mod numa_memory;
pub mod owners;
mod peers;
pub mod pid_namespace;
mod pods;
pub mod process;
pub(crate) mod scan;
pub mod server;
mod services;
mod sockets;
mod target;
mod task;
mod unit_name;

pub use containers::{Container, Containers, Inside};
pub use cpu_times::{CpuTime, cpu_times};
pub use guests::{Guest, GuestThread, Role};
pub use kernel_threads::{IrqThread, KernelThreads, Kind};
pub use listening::Listener;
pub use numa_memory::NumaMemory;
pub(crate) use owners::irqbalance::foresee;
pub use owners::irqbalance::{INTERVAL_S, Irqbalance};
pub use owners::irqbalance_running;
pub use owners::{Owner, OwnerId, OwnerSetting};
pub use peers::{Connections, Peer, connections};
pub use pid_namespace::PidNamespace;
pub use process::{Process, Thread};
pub use server::Server;
pub(crate) use services::has_systemd;
pub use services::services;
pub use sockets::sockets;
pub use target::{FoundServer, find};
pub use task::{Autogroup, Task};
pub(crate) use unit_name::unescaped;

use crate::limits::mounts::Mounts;
use crate::{Notes, Root};
use scan::numbers;

/// What the map shows of the processes.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) guests: Vec<Guest>,
    pub(crate) containers: Containers,
    pub(crate) owners: Vec<Owner>,
    pub(crate) kernel_threads: Vec<KernelThreads>,
}

/// Reads all of it in one pass over /proc.
pub(crate) fn read(root: &Root, mounts: Mounts, notes: &mut Notes) -> Found {
    let containers = containers::read(root, mounts, notes);
    let scan = scan::read(root);
    if let Err(e) = &scan {
        notes.missing("processes (guests, kernel threads, who sets affinities)", e);
    }
    let scan = scan.ok();
    if let Some(why) = scan.as_ref().and_then(|scan| scan.hidden.as_ref()) {
        notes.missing("all processes", why);
    }
    if let Some((files, first)) = scan.as_ref().and_then(|scan| scan.odd.as_ref()) {
        notes.missing(format_args!("some of the stat files of {files} processes"), first);
    }
    Found {
        owners: owners::read(root, scan.as_ref(), notes),
        guests: scan.as_ref().map(|scan| guests::read(root, scan, notes)).unwrap_or_default(),
        kernel_threads: scan.as_ref().map(|scan| kernel_threads::read(root, scan, notes)).unwrap_or_default(),
        containers,
    }
}
