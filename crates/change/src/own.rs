//! Pinwise's own threads (sampler, load): where they run. Not in the ledger, since it ends with the thread.

use std::io;

use machine::{Class, CpuSet, Fault};

use crate::{netns, sched};

/// Confines the calling thread, and threads that it starts from now on, to `cpus`.
///
/// Errors: none of the CPUs is allowed and online.
pub fn run_on(cpus: &CpuSet) -> Result<(), Fault> {
    sched::set_affinity(0, cpus).map_err(|error| {
        let class =
            if error.kind() == io::ErrorKind::PermissionDenied { Class::NotPermitted } else { Class::Usage };
        let remedy = "choose from Cpus_allowed_list in /proc/self/status";
        Fault::new(class, format!("CPUs {cpus}"), format!("this thread may not run there ({error})"), remedy)
    })
}

/// Moves the calling thread into a network namespace made by `ip netns`; its sockets are in there from now on.
pub fn enter_netns(name: &str) -> Result<(), Fault> {
    netns::enter(name).map_err(|error| fault(name, &error))
}

/// A fault about a network namespace.
pub(crate) fn fault(name: &str, error: &io::Error) -> Fault {
    let (class, remedy) = match error.kind() {
        io::ErrorKind::PermissionDenied => (Class::NotPermitted, "run as root"),
        io::ErrorKind::NotFound => (Class::MachineLacks, "see 'ip netns list' for those that there are"),
        _ => (Class::Usage, "see 'ip netns list' for those that there are"),
    };
    Fault::new(class, format!("network namespace {name}"), error, remedy)
}
