//! Processes of the running system.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use machine::procfs::pid_stat::PidStat;
use machine::{Fault, ProcessRef};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, WaitIdStatus, pidfd_open, pidfd_send_signal, waitid,
};

use super::launch::Launch;
use super::{Gated, ProcessSeen, Processes, fork, latency_holder};
use crate::kernel::live::LiveKernel;
use crate::namespace::{Namespace, numbers_are_ours};
use crate::procfs;

impl LiveKernel {
    /// The running system, seen from the network namespace of this process.
    ///
    /// The first call starts the thread that forks launched processes. They inherit its CPUs and its policy if they
    /// are launched without any of their own. So call this before this process confines its own threads.
    pub fn new() -> Self {
        fork::start_launcher();
        Self::here()
    }
}

impl Default for LiveKernel {
    fn default() -> Self {
        Self::new()
    }
}

impl Processes for LiveKernel {
    fn own(&self) -> io::Result<ProcessRef> {
        numbers_are_ours()?;
        let pid = std::process::id();
        Ok(ProcessRef { pid, start_time_ticks: procfs::start_time(pid, pid)? })
    }

    fn processes(&self) -> io::Result<Vec<ProcessSeen>> {
        let pids = procfs::numbers("/proc")?.into_iter();
        // Processes that end while we read are left out.
        Ok(pids.filter_map(|pid| procfs::stat(&format!("/proc/{pid}/stat"), seen).ok()).collect())
    }

    fn sees_alive(&self, process: &ProcessRef) -> io::Result<bool> {
        procfs::sees_alive(process)
    }

    fn process_in(&self, processes: &Namespace) -> Option<u32> {
        let is_in = |pid: &u32| {
            let namespace = fs::metadata(format!("/proc/{pid}/ns/pid"));
            namespace.is_ok_and(|namespace| namespace.ino() == processes.inode)
        };
        procfs::numbers("/proc").ok()?.into_iter().find(is_in)
    }

    fn carries(&self, pid: u32, marker: &str) -> Option<bool> {
        let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
        let wanted = format!("{}={marker}", fork::MARKER);
        Some(environment.split(|byte| *byte == 0).any(|variable| variable == wanted.as_bytes()))
    }

    fn signal(&self, process: &ProcessRef, signal: i32) -> io::Result<()> {
        let pid = pid_of(process.pid)?;
        let signal = match signal {
            libc::SIGKILL => Signal::KILL,
            libc::SIGTERM => Signal::TERM,
            libc::SIGINT => Signal::INT,
            other => {
                let why = format!("signal {other} is never sent");
                return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
            }
        };
        // The descriptor first: it stays with the process that is there now, whose start time is then compared.
        let handle = match pidfd_open(pid, PidfdFlags::empty()) {
            Err(rustix::io::Errno::NOSYS) => None, // before Linux 5.3
            result => Some(result?),
        };
        if procfs::start_time(process.pid, process.pid)? != process.start_time_ticks {
            return Err(gone());
        }
        let sent = match handle {
            Some(handle) => pidfd_send_signal(&handle, signal),
            None => rustix::process::kill_process(pid, signal),
        };
        Ok(sent?)
    }

    fn fork(&self, launch: &Launch, marker: &str) -> Result<Box<dyn Gated>, Fault> {
        fork::fork(launch, marker, false)
    }

    fn ended(&self, pid: u32) -> io::Result<Option<ExitStatus>> {
        let flags = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        Ok(waitid(WaitId::Pid(pid_of(pid)?), flags)?.map(|ended| exit_status(&ended)))
    }

    fn reap(&self, pid: u32) {
        let flags = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
        // The errors are those for a process that runs or is not a child.
        let _ = pid_of(pid).map(|pid| waitid(WaitId::Pid(pid), flags));
    }

    fn cpu_latency_us(&self) -> io::Result<u32> {
        latency_holder::in_force_us()
    }

    fn fork_holder(&self, limit_us: u32, marker: &str) -> Result<Box<dyn Gated>, Fault> {
        latency_holder::fork_holder(limit_us, marker)
    }
}

fn gone() -> io::Error {
    io::Error::from_raw_os_error(libc::ESRCH)
}

/// A number as one that system calls take.
///
/// Errors: `ESRCH` for numbers that no process can have.
fn pid_of(number: u32) -> io::Result<Pid> {
    i32::try_from(number).ok().and_then(Pid::from_raw).ok_or_else(gone)
}

/// The status in the form of wait(2), from the parts that waitid(2) returns.
fn exit_status(ended: &WaitIdStatus) -> ExitStatus {
    const CORE_DUMPED: i32 = 0x80;
    ExitStatus::from_raw(match (ended.exit_status(), ended.terminating_signal()) {
        (Some(code), _) => (code & 0xff) << 8,
        (None, Some(signal)) if ended.dumped() => signal | CORE_DUMPED,
        (None, signal) => signal.unwrap_or_default(),
    })
}

fn seen(stat: PidStat) -> ProcessSeen {
    ProcessSeen {
        process: ProcessRef { pid: stat.pid, start_time_ticks: stat.start_time_ticks },
        parent: stat.ppid,
        // None only while it is ending.
        group: stat.group.unwrap_or(0),
        ended: stat.ended(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::Identity as _;

    #[test]
    fn this_process_is_alive_and_another_of_its_number_is_not() {
        let kernel = LiveKernel::new();
        let own = kernel.own().unwrap();
        assert!(kernel.alive(&own));
        assert!(own.start_time_ticks <= kernel.now_ticks().unwrap());
        let other = ProcessRef { start_time_ticks: own.start_time_ticks + 1, ..own };
        assert!(!kernel.alive(&other));
        assert_eq!(kernel.signal(&other, libc::SIGTERM).unwrap_err().raw_os_error(), Some(libc::ESRCH));
        assert!(kernel.processes().unwrap().iter().any(|seen| seen.process == own && !seen.ended));
    }
}
