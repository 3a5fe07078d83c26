//! Threads of the running system.

use std::io;

use machine::{CpuSet, UtilClamp};

use super::{Threads, Users, sched, util_clamp};
use crate::capability;
use crate::kernel::live::LiveKernel;
use crate::kernel::scheduling_state::SchedulingState;
use crate::namespace::numbers_are_ours;
use crate::procfs;

impl Threads for LiveKernel {
    fn affinity(&self, pid: u32, tid: u32) -> io::Result<CpuSet> {
        procfs::allowed_cpus(pid, tid)
    }

    fn set_affinity(&self, tid: u32, cpus: &CpuSet) -> io::Result<()> {
        sched::set_affinity(tid, cpus)
    }

    fn is_bound(&self, pid: u32, tid: u32) -> Option<bool> {
        procfs::stat(&format!("/proc/{pid}/task/{tid}/stat"), |stat| stat.no_setaffinity()).ok().flatten()
    }

    fn scheduling(&self, tid: u32) -> io::Result<SchedulingState> {
        sched::scheduling(tid)
    }

    fn set_scheduling(&self, tid: u32, state: &SchedulingState) -> io::Result<()> {
        sched::set_scheduling(tid, state)
    }

    fn io_priority(&self, tid: u32) -> io::Result<u16> {
        sched::io_priority(tid)
    }

    fn set_io_priority(&self, tid: u32, raw: u16) -> io::Result<()> {
        sched::set_io_priority(tid, raw)
    }

    fn util_clamp(&self, tid: u32) -> io::Result<UtilClamp> {
        util_clamp::get(tid)
    }

    fn set_util_clamp(&self, tid: u32, clamp: UtilClamp) -> io::Result<()> {
        util_clamp::set(tid, clamp)
    }

    fn may_raise_priority(&self) -> bool {
        capability::is_effective(capability::SYS_NICE)
    }

    fn users(&self, pid: u32, tid: u32) -> io::Result<Users> {
        procfs::users(pid, tid)
    }

    fn own_users(&self) -> Users {
        Users { real: rustix::process::getuid().as_raw(), effective: rustix::process::geteuid().as_raw() }
    }

    fn start_time(&self, pid: u32, tid: u32) -> io::Result<u64> {
        // A number means to the calls of this trait what it means in our own namespace.
        numbers_are_ours()?;
        procfs::start_time(pid, tid)
    }

    fn threads(&self, pid: u32) -> io::Result<Vec<u32>> {
        procfs::numbers(&format!("/proc/{pid}/task"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_users_of_our_own_thread_are_ours() {
        let (kernel, pid) = (LiveKernel::new(), std::process::id());
        assert_eq!(kernel.users(pid, pid).unwrap(), kernel.own_users());
    }

    #[test]
    fn affinity_reads_what_was_set() {
        std::thread::spawn(|| {
            let (kernel, pid) = (LiveKernel::new(), std::process::id());
            let tid = rustix::thread::gettid().as_raw_pid() as u32;
            assert_eq!(kernel.is_bound(pid, tid), Some(false));
            let before = kernel.affinity(pid, tid).unwrap();
            let one = CpuSet::single(before.first().unwrap());
            kernel.set_affinity(tid, &one).unwrap();
            assert_eq!(kernel.affinity(pid, tid).unwrap(), one);
        })
        .join()
        .unwrap();
    }
}
