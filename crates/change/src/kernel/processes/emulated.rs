//! Processes of the emulated machine.

use std::fs::File;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::ExitStatus;

use machine::{Fault, ProcessRef};

use super::launch::Launch;
use super::{Gated, ProcessSeen, Processes};
use crate::kernel::emulated::{EmulatedKernel, EmulatedThread, OWN_PID, error};
use crate::namespace::Namespace;

impl Processes for EmulatedKernel {
    fn own(&self) -> io::Result<ProcessRef> {
        let start_time_ticks = self.inner().thread(OWN_PID)?.start_time_ticks;
        Ok(ProcessRef { pid: OWN_PID, start_time_ticks })
    }

    fn processes(&self) -> io::Result<Vec<ProcessSeen>> {
        let inner = self.inner();
        let first = inner.state.threads.iter().filter(|(tid, thread)| thread.pid == **tid);
        Ok(first
            .map(|(pid, thread)| ProcessSeen {
                process: ProcessRef { pid: *pid, start_time_ticks: thread.start_time_ticks },
                parent: thread.parent,
                group: thread.group,
                ended: false,
            })
            .collect())
    }

    fn sees_alive(&self, process: &ProcessRef) -> io::Result<bool> {
        let refused = self.inner().unreadable.get(Path::new("/proc")).copied();
        if let Some(errno) = refused {
            return Err(error(errno));
        }
        Ok(self.processes()?.iter().any(|seen| seen.process == *process && !seen.ended))
    }

    fn process_in(&self, _processes: &Namespace) -> Option<u32> {
        None
    }

    fn carries(&self, pid: u32, marker: &str) -> Option<bool> {
        self.inner().state.threads.get(&pid).map(|thread| thread.marker.as_deref() == Some(marker))
    }

    fn signal(&self, process: &ProcessRef, signal: i32) -> io::Result<()> {
        self.change(&format!("signal {}", process.pid), |inner| {
            let found = inner.thread(process.pid)?;
            if found.start_time_ticks != process.start_time_ticks {
                return Err(error(libc::ESRCH));
            }
            if signal == libc::SIGKILL || signal == libc::SIGTERM {
                inner.state.threads.retain(|_, thread| thread.pid != process.pid);
            }
            Ok(())
        })
    }

    fn fork(&self, launch: &Launch, marker: &str) -> Result<Box<dyn Gated>, Fault> {
        self.fork_as(&launch.argv.join(" "), marker, None)
    }

    fn ended(&self, pid: u32) -> io::Result<Option<ExitStatus>> {
        let runs = self.inner().state.threads.contains_key(&pid);
        Ok((!runs).then(|| ExitStatus::from_raw(libc::SIGKILL)))
    }

    fn reap(&self, _pid: u32) {}

    fn cpu_latency_us(&self) -> io::Result<u32> {
        Ok(self.inner().state.cpu_latency_us())
    }

    fn fork_holder(&self, limit_us: u32, marker: &str) -> Result<Box<dyn Gated>, Fault> {
        self.fork_as("holder", marker, Some(limit_us))
    }
}

impl EmulatedKernel {
    fn fork_as(
        &self,
        name: &str,
        marker: &str,
        holds_latency_us: Option<u32>,
    ) -> Result<Box<dyn Gated>, Fault> {
        let forked = self.change("fork", |inner| {
            let (pid, start_time_ticks) = (inner.next_pid, inner.ticks);
            inner.next_pid += 1;
            let thread = EmulatedThread {
                pid,
                start_time_ticks,
                parent: OWN_PID,
                group: pid,
                users: inner.own_users(),
                marker: Some(marker.to_string()),
                gated: true,
                holds_latency_us,
                ..EmulatedThread::new(pid)
            };
            inner.state.threads.insert(pid, thread);
            Ok(ProcessRef { pid, start_time_ticks })
        });
        let process = forked.map_err(|e| Fault::io(name, &e, "emulated"))?;
        Ok(Box::new(EmulatedGated { kernel: self.clone(), process }))
    }
}

struct EmulatedGated {
    kernel: EmulatedKernel,
    process: ProcessRef,
}

impl Gated for EmulatedGated {
    fn process(&self) -> ProcessRef {
        self.process
    }

    fn release(self: Box<Self>) -> Result<Option<File>, Fault> {
        let released = self.kernel.change("release", |inner| {
            inner.thread(self.process.pid)?.gated = false;
            Ok(None)
        });
        released.map_err(|e| Fault::io(format!("process {}", self.process.pid), &e, "emulated"))
    }
}

impl Drop for EmulatedGated {
    fn drop(&mut self) {
        let pid = self.process.pid;
        self.kernel.inner().state.threads.retain(|_, thread| !(thread.pid == pid && thread.gated));
    }
}
