//! Threads of the emulated machine.

use std::io;

use machine::{CpuSet, UtilClamp};

use super::{Threads, Users};
use crate::kernel::emulated::{EmulatedKernel, error};
use crate::kernel::scheduling_state::SchedulingState;

impl Threads for EmulatedKernel {
    fn affinity(&self, _pid: u32, tid: u32) -> io::Result<CpuSet> {
        Ok(self.inner().thread(tid)?.affinity.clone())
    }

    fn set_affinity(&self, tid: u32, cpus: &CpuSet) -> io::Result<()> {
        self.change(&format!("affinity {tid}"), |inner| {
            if inner.thread(tid)?.is_bound {
                return Err(error(libc::EINVAL));
            }
            inner.permit(tid, Users::may_schedule)?;
            inner.thread(tid)?.affinity = cpus.clone();
            Ok(())
        })
    }

    fn is_bound(&self, _pid: u32, tid: u32) -> Option<bool> {
        Some(self.inner().thread(tid).ok()?.is_bound)
    }

    fn scheduling(&self, tid: u32) -> io::Result<SchedulingState> {
        Ok(self.inner().thread(tid)?.scheduling)
    }

    fn set_scheduling(&self, tid: u32, state: &SchedulingState) -> io::Result<()> {
        self.change(&format!("scheduling {tid}"), |inner| {
            inner.permit(tid, Users::may_schedule)?;
            inner.thread(tid)?.scheduling = *state;
            Ok(())
        })
    }

    fn io_priority(&self, tid: u32) -> io::Result<u16> {
        Ok(self.inner().thread(tid)?.io_priority)
    }

    fn set_io_priority(&self, tid: u32, raw: u16) -> io::Result<()> {
        self.change(&format!("io-priority {tid}"), |inner| {
            inner.permit(tid, Users::may_rank_requests)?;
            inner.thread(tid)?.io_priority = raw;
            Ok(())
        })
    }

    fn util_clamp(&self, tid: u32) -> io::Result<UtilClamp> {
        Ok(self.inner().thread(tid)?.util_clamp)
    }

    fn set_util_clamp(&self, tid: u32, clamp: UtilClamp) -> io::Result<()> {
        self.change(&format!("util-clamp {tid}"), |inner| {
            inner.permit(tid, Users::may_schedule)?;
            inner.thread(tid)?.util_clamp = clamp;
            Ok(())
        })
    }

    fn may_raise_priority(&self) -> bool {
        !self.inner().unprivileged
    }

    fn users(&self, _pid: u32, tid: u32) -> io::Result<Users> {
        Ok(self.inner().thread(tid)?.users)
    }

    fn own_users(&self) -> Users {
        self.inner().own_users()
    }

    fn start_time(&self, pid: u32, tid: u32) -> io::Result<u64> {
        let mut inner = self.inner();
        let thread = inner.thread(tid)?;
        if thread.pid == pid { Ok(thread.start_time_ticks) } else { Err(error(libc::ENOENT)) }
    }

    fn threads(&self, pid: u32) -> io::Result<Vec<u32>> {
        let inner = self.inner();
        let threads = inner.state.threads.iter().filter(|(_, thread)| thread.pid == pid).map(|(tid, _)| *tid);
        let threads: Vec<u32> = threads.collect();
        if threads.is_empty() { Err(error(libc::ENOENT)) } else { Ok(threads) }
    }
}
