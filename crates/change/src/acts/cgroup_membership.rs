//! The cgroup that a process is in.

mod cause;

use std::io;
use std::path::Path;

use machine::{Act, Fault, ProcessRef, ThreadRef};

use super::operation::refusal::{Refusal, refusal};
use super::{Operation, first_thread, unfit};
use crate::kernel::Kernel;
use crate::record::Value;
use crate::subject::Scope;

/// Moves a process with all its threads into a cgroup.
pub struct CgroupMembership<'a> {
    pub process: ProcessRef,
    pub path: &'a Path,
}

impl Operation for CgroupMembership<'_> {
    fn scope(&self) -> Scope<'_> {
        Scope::Processes
    }

    fn lives_with(&self) -> Option<ThreadRef> {
        Some(first_thread(self.process))
    }

    fn is_about_same(&self, other: &Act) -> bool {
        matches!(other, Act::JoinCgroup { process, .. } if *process == self.process)
    }

    fn read(&self, kernel: &dyn Kernel) -> io::Result<Value> {
        let path = kernel.process_cgroup(self.process.pid, self.path)?;
        Ok(Value::Cgroup { path, affinity: Vec::new() })
    }

    fn is_read_again(&self) -> bool {
        false
    }

    /// Adds what its threads may use, which a move can change.
    fn examine(&self, kernel: &dyn Kernel, old: &mut Value) -> Result<(), Fault> {
        let Value::Cgroup { affinity, .. } = old else { return Ok(()) };
        for tid in kernel.threads(self.process.pid).map_err(|e| refusal(self, &e))? {
            // A thread that ends in between needs nothing put back.
            if let Ok(cpus) = kernel.affinity(self.process.pid, tid) {
                affinity.push((tid, cpus));
            }
        }
        Ok(())
    }

    fn perform(&self, kernel: &dyn Kernel, _now: &Value) -> io::Result<()> {
        self.join(kernel, self.path)
    }

    fn put_back(&self, kernel: &dyn Kernel, old: &Value, _now: &Value) -> io::Result<()> {
        let Value::Cgroup { path, affinity } = old else { return Err(unfit()) };
        self.join(kernel, path)?;
        // Kernels before 6.2 forget a thread's own affinity when its cpuset changes.
        for (tid, cpus) in affinity {
            if kernel.affinity(self.process.pid, *tid).is_ok_and(|now| now != *cpus) {
                kernel.set_affinity(*tid, cpus)?;
            }
        }
        Ok(())
    }

    fn same(&self, a: &Value, b: &Value) -> bool {
        match (a, b) {
            (Value::Cgroup { path: a, .. }, Value::Cgroup { path: b, .. }) => a == b,
            _ => a == b,
        }
    }

    fn took_effect(&self, now: &Value) -> bool {
        matches!(now, Value::Cgroup { path, .. } if path == self.path)
    }

    fn object(&self) -> String {
        format!("process {}: cgroup", self.process.pid)
    }

    fn asked(&self) -> String {
        self.path.display().to_string()
    }

    fn call(&self) -> String {
        format!("write '{}' to {}/cgroup.procs", self.process.pid, self.path.display())
    }

    fn refused(&self, error: &io::Error) -> Option<Refusal> {
        if let Some(cause) = cause::of(error) {
            return Some(cause.refusal());
        }
        match error.raw_os_error() {
            Some(libc::ENOENT) => {
                Some(Refusal::unavailable("the cgroup does not exist", "create it first, or check the path"))
            }
            Some(libc::ENOSPC) => Some(Refusal::unavailable(
                "the cgroup has no CPUs or no memory nodes",
                "write cpuset.cpus and cpuset.mems first",
            )),
            // cgroup_migrate_vet_dst of kernel/cgroup/cgroup.c; cpuset_can_attach of cpuset.c.
            Some(libc::EBUSY) => Some(Refusal::unavailable(
                "the cgroup hands controllers to those below it (cgroup.subtree_control) and so may hold no process itself, or its CPUs \
                 have no run time left for the SCHED_DEADLINE threads of the process",
                "choose a cgroup below it, or one with more CPUs",
            )),
            Some(libc::EOPNOTSUPP) => Some(Refusal::unavailable(
                "the cgroup is in a threaded subtree, which takes no whole process (cgroup.type)",
                "choose a cgroup whose cgroup.type is domain",
            )),
            Some(libc::EINVAL) => Some(Refusal::unavailable(
                "kernel threads that are pinned stay where they are, and real-time threads need run time in the cgroup (cpu.rt_runtime_us)",
                "leave kernel threads where they are; give the cgroup real-time run time first",
            )),
            Some(libc::ENODEV) => Some(Refusal::unavailable(
                "the cgroup is being removed",
                "choose another one, or create it again",
            )),
            _ => None,
        }
    }
}

impl CgroupMembership<'_> {
    /// Moves the process. Several numbers have two causes, which its threads and the files of the cgroup distinguish.
    fn join(&self, kernel: &dyn Kernel, path: &Path) -> io::Result<()> {
        let pid = self.process.pid;
        kernel.join_cgroup(pid, path).map_err(|error| cause::explained(kernel, pid, path, error))
    }
}

/// A process that is moved, for the tests that cover every kind.
#[cfg(any(test, feature = "emulated"))]
pub mod sample {
    use libc::{EBUSY, EINVAL, ENODEV, ENOENT, ENOSPC, EOPNOTSUPP, EROFS, ESRCH};
    use machine::Act;

    use super::CgroupMembership;
    use crate::acts::cgroup_creation::sample as cgroup;
    use crate::acts::samples::{Machine, Sampled, alter_thread, end_process};
    use crate::kernel::EmulatedKernel;
    use crate::kernel::emulated::EmulatedState;

    /// Into the cgroup that was made before.
    pub fn acts(machine: &Machine) -> Vec<Act> {
        vec![Act::JoinCgroup { process: machine.server, path: cgroup::CGROUP.into() }]
    }

    impl Sampled for CgroupMembership<'_> {
        /// kernel/cgroup/cgroup.c.
        fn errnos(&self) -> &'static [i32] {
            &[EBUSY, EINVAL, ENODEV, ENOENT, ENOSPC, EOPNOTSUPP, EROFS, ESRCH]
        }

        fn prepare(&self, state: &mut EmulatedState) {
            cgroup::make(state);
        }

        fn change_by_others(&self, state: &mut EmulatedState) -> bool {
            let theirs = "/sys/fs/cgroup/cpuset/theirs";
            alter_thread(state, self.process.pid, |thread| thread.cgroup = theirs.into())
        }

        fn remove(&self, kernel: &EmulatedKernel) -> bool {
            end_process(kernel, self.process.pid)
        }
    }
}
