//! Who has the CPU that the server wants.

pub mod autogroup;
pub mod busy_task;
pub mod client_beside_server;
pub mod cross_cpu_wakeups;
pub mod kernel_thread;
pub mod narrow_affinity;
pub mod own_threads;
pub mod quota;
pub mod rt_throttling;
pub mod runtime_width;
pub mod thread_migrations;

use super::Rule;

/// All rules of this field.
pub static ALL: &[&dyn Rule] = &[
    &quota::Quota,
    &narrow_affinity::NarrowAffinity,
    &busy_task::BusyTask,
    &autogroup::AutogroupRule,
    &client_beside_server::ClientBesideServer,
    &own_threads::OwnThreads,
    &runtime_width::RuntimeWidth,
    &rt_throttling::RtThrottling,
    &cross_cpu_wakeups::CrossCpuWakeups,
    &thread_migrations::ThreadMigrations,
    &kernel_thread::KernelThread,
];
