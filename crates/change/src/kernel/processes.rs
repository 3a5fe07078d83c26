//! Processes: listed, started, signalled and reaped.

#[cfg(any(test, feature = "emulated"))]
mod emulated;
mod fork;
pub mod latency_holder;
pub mod launch;
mod live;

use std::collections::BTreeSet;
use std::fs::File;
use std::io;
use std::process::ExitStatus;

use machine::{Fault, ProcessRef};

use crate::namespace::Namespace;
use launch::Launch;

/// A process as a listing of /proc shows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessSeen {
    /// The process.
    pub process: ProcessRef,
    /// Number of its parent.
    pub parent: u32,
    /// Its process group.
    pub group: u32,
    /// Whether it has ended and waits to be reaped.
    pub ended: bool,
}

/// A process that has been forked and waits at a gate: it runs no program until it is released.
///
/// A process that is dropped without [`release`](Gated::release) leaves, and so it does when this process dies. That
/// is why it can be written down between its start and its first action.
pub trait Gated {
    /// The waiting process; its group has the same number.
    fn process(&self) -> ProcessRef;

    /// Lets it execute its program. Returns the reading end of its standard output if that is a pipe.
    ///
    /// # Errors
    /// The step that failed in the child (namespace, memory policy, folder, program). The child has gone then.
    fn release(self: Box<Self>) -> Result<Option<File>, Fault>;
}

/// Lists, starts and ends processes.
pub trait Processes {
    /// This process.
    ///
    /// # Errors
    /// /proc is not mounted.
    fn own(&self) -> io::Result<ProcessRef>;

    /// Every process that can be seen from here.
    fn processes(&self) -> io::Result<Vec<ProcessSeen>>;

    /// Whether this very process is there and has not ended.
    ///
    /// # Errors
    /// It cannot be seen now: that says nothing about the process.
    fn sees_alive(&self, process: &ProcessRef) -> io::Result<bool>;

    /// Whether this very process is seen to be there and not to have ended.
    fn alive(&self, process: &ProcessRef) -> bool {
        self.sees_alive(process).unwrap_or(false)
    }

    /// A process in a PID namespace, by its number here; `None` if none can be seen.
    fn process_in(&self, processes: &Namespace) -> Option<u32>;

    /// Whether a process has this marker in its environment: it was launched with it, or inherited it. `None`: its
    /// environment cannot be read.
    fn carries(&self, pid: u32, marker: &str) -> Option<bool>;

    /// Sends a signal: to this process, never to a later one with the same number (pidfd_send_signal(2)).
    ///
    /// # Errors
    /// `ESRCH` or `NotFound` when the process has gone; `InvalidInput` for signals other than SIGKILL, SIGTERM and
    /// SIGINT.
    fn signal(&self, process: &ProcessRef, signal: i32) -> io::Result<()>;

    /// Forks a process that waits at its gate, with `marker` in its environment.
    ///
    /// # Errors
    /// The program, log, folder or network namespace cannot be found; a limit of the system is reached.
    fn fork(&self, launch: &Launch, marker: &str) -> Result<Box<dyn Gated>, Fault>;

    /// How a child of this process ended; `None` while it runs. It stays a zombie, so that its number, also as that
    /// of its group, is not reused (waitid(2) with WNOWAIT).
    ///
    /// # Errors
    /// `ECHILD` when it is not a child of this process, or has been reaped.
    fn ended(&self, pid: u32) -> io::Result<Option<ExitStatus>>;

    /// Reaps a child of this process that has ended. Does nothing to a process that runs or is not a child.
    fn reap(&self, pid: u32);

    /// The limit on the exit latency of idle CPUs in force, µs; 2000000000 when nobody asks for one (PM QoS,
    /// /dev/cpu_dma_latency).
    fn cpu_latency_us(&self) -> io::Result<u32>;

    /// Forks a process that waits at its gate and then holds such a limit until it is ended; it outlives this
    /// process. [`Gated::release`] returns when the kernel has taken the limit.
    fn fork_holder(&self, limit_us: u32, marker: &str) -> Result<Box<dyn Gated>, Fault>;
}

/// All descendants of a process, in no order, without the process itself.
pub(crate) fn descendants(processes: &[ProcessSeen], pid: u32) -> Vec<ProcessRef> {
    let mut family = BTreeSet::from([pid]);
    loop {
        let before = family.len();
        let children = processes.iter().filter(|seen| family.contains(&seen.parent));
        let more: Vec<u32> = children.map(|seen| seen.process.pid).collect();
        family.extend(more);
        if family.len() == before {
            break;
        }
    }
    let of_family =
        processes.iter().filter(|seen| seen.process.pid != pid && family.contains(&seen.process.pid));
    of_family.map(|seen| seen.process).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(pid: u32, parent: u32) -> ProcessSeen {
        let process = ProcessRef { pid, start_time_ticks: pid.into() };
        ProcessSeen { process, parent, group: pid, ended: false }
    }

    #[test]
    fn descendants_are_found_in_any_order_of_numbers() {
        let processes = [seen(2, 9), seen(9, 5), seen(5, 1), seen(7, 1), seen(1, 0)];
        let mut found: Vec<u32> = descendants(&processes, 5).iter().map(|p| p.pid).collect();
        found.sort();
        assert_eq!(found, [2, 9]);
        assert!(descendants(&processes, 7).is_empty());
    }
}
