//! The CPU affinity of a thread (sched_setaffinity(2)).

use std::io;

use machine::{Act, CpuSet, ThreadRef};

use super::operation::refusal::Refusal;
use super::{Operation, of_thread, unfit};
use crate::kernel::Kernel;
use crate::record::Value;
use crate::subject::Scope;

/// Sets where a thread may run.
pub struct CpuAffinity<'a> {
    pub thread: ThreadRef,
    pub cpus: &'a CpuSet,
}

impl Operation for CpuAffinity<'_> {
    fn scope(&self) -> Scope<'_> {
        Scope::Processes
    }

    fn thread(&self) -> Option<ThreadRef> {
        Some(self.thread)
    }

    fn is_about_same(&self, other: &Act) -> bool {
        matches!(other, Act::SetAffinity { thread, .. } if *thread == self.thread)
    }

    fn for_thread(&self, thread: ThreadRef) -> Option<Act> {
        Some(Act::SetAffinity { thread, cpus: self.cpus.clone() })
    }

    fn read(&self, kernel: &dyn Kernel) -> io::Result<Value> {
        Ok(Value::Cpus(kernel.affinity(self.thread.pid, self.thread.tid)?))
    }

    fn perform(&self, kernel: &dyn Kernel, _now: &Value) -> io::Result<()> {
        kernel.set_affinity(self.thread.tid, self.cpus)
    }

    fn put_back(&self, kernel: &dyn Kernel, old: &Value, _now: &Value) -> io::Result<()> {
        let Value::Cpus(cpus) = old else { return Err(unfit()) };
        kernel.set_affinity(self.thread.tid, cpus)
    }

    fn took_effect(&self, now: &Value) -> bool {
        matches!(now, Value::Cpus(now) if now == self.cpus)
    }

    /// The kernel leaves out CPUs that a thread may not use: any part of what was requested is ours.
    fn may_be_ours(&self, _old: &Value, now: &Value) -> bool {
        matches!(now, Value::Cpus(now) if !now.is_empty() && now.is_subset(self.cpus))
    }

    fn object(&self) -> String {
        of_thread(&self.thread, "CPU affinity")
    }

    fn asked(&self) -> String {
        format!("CPUs {}", self.cpus)
    }

    fn call(&self) -> String {
        format!("sched_setaffinity({}, {})", self.thread.tid, self.cpus)
    }

    fn refused(&self, error: &io::Error) -> Option<Refusal> {
        (error.raw_os_error() == Some(libc::EINVAL)).then(|| {
            Refusal::unavailable(
                "none of these CPUs is online and allowed, or the kernel pins this thread itself (PF_NO_SETAFFINITY)",
                "choose from Cpus_allowed_list of its cgroup (cpuset); leave per-CPU kernel threads",
            )
        })
    }
}
