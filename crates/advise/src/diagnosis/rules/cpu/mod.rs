//! Who has the CPU that the server wants.

pub mod autogroup;
pub mod busy_task;
pub mod client_beside_server;
pub mod kernel_thread;
pub mod narrow_affinity;
pub mod own_threads;
pub mod quota;

use super::Rule;

/// All of this field.
pub static ALL: &[&dyn Rule] = &[
    &quota::Quota,
    &narrow_affinity::NarrowAffinity,
    &busy_task::BusyTask,
    &autogroup::AutogroupRule,
    &client_beside_server::ClientBesideServer,
    &own_threads::OwnThreads,
    &kernel_thread::KernelThread,
];
