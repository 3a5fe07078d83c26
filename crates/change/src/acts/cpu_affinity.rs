//! The CPU affinity of a thread (sched_setaffinity(2)).

use std::fmt;
use std::io;

use machine::{Act, Class, CpuSet, ThreadRef};

use super::operation::refusal::Refusal;
use super::{Operation, OwnerRule, of_thread, unfit};
use crate::kernel::{Kernel, Users};
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

    /// The kernel looks first at whether it pins the thread itself, and says another number.
    fn owner_rule(&self, kernel: &dyn Kernel) -> Option<(ThreadRef, OwnerRule)> {
        let is_bound = kernel.is_bound(self.thread.pid, self.thread.tid) == Some(true);
        (!is_bound).then_some((self.thread, Users::may_schedule as OwnerRule))
    }

    fn perform(&self, kernel: &dyn Kernel, _now: &Value) -> io::Result<()> {
        self.set(kernel, self.cpus)
    }

    fn put_back(&self, kernel: &dyn Kernel, old: &Value, _now: &Value) -> io::Result<()> {
        let Value::Cpus(cpus) = old else { return Err(unfit()) };
        self.set(kernel, cpus)
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
        if error.get_ref().is_some_and(|why| why.is::<Bound>()) {
            return Some(PINNED_BY_KERNEL);
        }
        match error.raw_os_error() {
            Some(libc::EINVAL) => Some(Refusal::unavailable(
                "none of these CPUs is online and allowed by the cpuset of its cgroup",
                "choose from the CPUs of its cgroup (cpuset.cpus.effective), or bring these online",
            )),
            Some(libc::EBUSY) => Some(DEADLINE),
            _ => None,
        }
    }
}

impl CpuAffinity<'_> {
    /// Sets the affinity. EINVAL has two causes, which the flags of the thread distinguish.
    fn set(&self, kernel: &dyn Kernel, cpus: &CpuSet) -> io::Result<()> {
        let ThreadRef { pid, tid, .. } = self.thread;
        kernel.set_affinity(tid, cpus).map_err(|error| match error.raw_os_error() {
            Some(libc::EINVAL) if kernel.is_bound(pid, tid) == Some(true) => {
                io::Error::new(error.kind(), Bound(error))
            }
            _ => error,
        })
    }
}

/// The error of a thread that the kernel pins itself.
#[derive(Debug)]
struct Bound(io::Error);

impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl std::error::Error for Bound {}

/// `dl_task_check_affinity` of kernel/sched/syscalls.c.
pub const DEADLINE: Refusal = Refusal {
    class: Class::MachineLacks,
    meaning: "a SCHED_DEADLINE thread must be allowed on every CPU of its root domain",
    remedy: "make its cgroup a cpuset partition of these CPUs (cpuset.cpus.partition = root), which is a root domain of its own, or give \
        it another policy first (chrt)",
};

/// `sched_setaffinity` of kernel/sched/syscalls.c: of a thread with PF_NO_SETAFFINITY.
pub const PINNED_BY_KERNEL: Refusal = Refusal {
    class: Class::MachineLacks,
    meaning: "the kernel pins this thread itself (PF_NO_SETAFFINITY)",
    remedy: "leave it: it serves its CPUs alone",
};

/// Where threads may run, for the tests that cover every kind.
#[cfg(any(test, feature = "emulated"))]
pub mod sample {
    use machine::{Act, CpuSet};

    use super::CpuAffinity;
    use crate::acts::samples::{ERRNOS_OF_SCHEDULER, Machine, Sampled, alter_thread, end_thread};
    use crate::kernel::EmulatedKernel;
    use crate::kernel::emulated::EmulatedState;

    /// Of both threads of a process.
    pub fn acts(machine: &Machine) -> Vec<Act> {
        vec![
            Act::SetAffinity { thread: machine.first, cpus: CpuSet::single(1) },
            Act::SetAffinity { thread: machine.second, cpus: (2..4).collect() },
        ]
    }

    impl Sampled for CpuAffinity<'_> {
        fn errnos(&self) -> &'static [i32] {
            ERRNOS_OF_SCHEDULER
        }

        fn is_of_process(&self) -> bool {
            true
        }

        fn change_by_others(&self, state: &mut EmulatedState) -> bool {
            alter_thread(state, self.thread.tid, |thread| thread.affinity = [0, 3].into_iter().collect())
        }

        fn remove(&self, kernel: &EmulatedKernel) -> bool {
            end_thread(kernel, self.thread.tid)
        }
    }
}
