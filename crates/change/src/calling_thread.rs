//! Where pinwise's own threads run (sampler, load). This is not in the ledger, since it ends with the thread.

use std::io;

use machine::{Class, CpuSet, Fault, Scheduling};

use crate::kernel::SchedulingState;
use crate::kernel::threads::sched;
use crate::namespace::netns;

/// Confines the calling thread, and threads that it starts from now on, to `cpus`.
///
/// # Errors
/// None of the CPUs is allowed and online.
pub fn run_on(cpus: &CpuSet) -> Result<(), Fault> {
    sched::set_affinity(0, cpus).map_err(|error| {
        let class =
            if error.kind() == io::ErrorKind::PermissionDenied { Class::NotPermitted } else { Class::Usage };
        let remedy = "choose from Cpus_allowed_list in /proc/self/status";
        Fault::new(class, format!("CPUs {cpus}"), format!("this thread may not run there ({error})"), remedy)
    })
}

/// Gives the calling thread the lowest real-time priority (SCHED_FIFO, 1). Threads that it starts do not inherit it.
///
/// # Errors
/// No permission (CAP_SYS_NICE, or RLIMIT_RTPRIO of 1 and more), or a cgroup without real-time bandwidth.
pub fn run_as_fifo() -> Result<(), Fault> {
    let fifo = || {
        let old = sched::scheduling(0)?;
        let new = SchedulingState { reset_on_fork: true, ..old.with(Scheduling::Fifo { priority: 1 }) };
        sched::set_scheduling(0, &new)
    };
    fifo().map_err(|error| {
        let class = match error.kind() {
            io::ErrorKind::PermissionDenied => Class::NotPermitted,
            _ => Class::MachineLacks,
        };
        let remedy = "run as root, with CAP_SYS_NICE, or with 'ulimit -r 1'; or leave --fifo out";
        Fault::new(class, "SCHED_FIFO", error, remedy)
    })
}

/// Gives the calling thread a scheduling policy. Threads that it starts do not inherit it.
///
/// # Errors
/// No permission (CAP_SYS_NICE; RLIMIT_RTPRIO or RLIMIT_NICE), or a cgroup without real-time bandwidth.
pub fn schedule_as(scheduling: Scheduling) -> Result<(), Fault> {
    let set = || {
        let old = sched::scheduling(0)?;
        sched::set_scheduling(0, &SchedulingState { reset_on_fork: true, ..old.with(scheduling) })
    };
    set().map_err(|error| {
        let class = match error.kind() {
            io::ErrorKind::PermissionDenied => Class::NotPermitted,
            _ => Class::MachineLacks,
        };
        let object = match scheduling {
            Scheduling::Fifo { priority } => format!("SCHED_FIFO, priority {priority}"),
            Scheduling::RoundRobin { priority } => format!("SCHED_RR, priority {priority}"),
            Scheduling::Other { nice } => format!("nice {nice}"),
            Scheduling::Batch { nice } => format!("SCHED_BATCH, nice {nice}"),
            Scheduling::Idle => "SCHED_IDLE".to_string(),
        };
        Fault::new(class, object, error, "run as root, or with CAP_SYS_NICE")
    })
}

/// Moves the calling thread into a network namespace of ip-netns(8). Its sockets are made there from now on.
///
/// # Errors
/// There is none of that name; no permission (CAP_SYS_ADMIN).
pub fn enter_netns(name: &str) -> Result<(), Fault> {
    netns::enter(name).map_err(|error| netns::fault(name, &error))
}
