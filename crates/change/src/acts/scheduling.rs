//! The scheduling policy of a thread (sched_setattr(2), setpriority(2)).

use std::io;

use machine::{Act, Scheduling, ThreadRef};

use super::operation::refusal::{Refusal, is_permission, is_root};
use super::{Operation, OwnerRule, of_thread, unfit};
use crate::kernel::{Kernel, Users, policy_text};
use crate::record::Value;
use crate::subject::Scope;

/// Sets a thread's policy.
pub struct ThreadScheduling {
    pub thread: ThreadRef,
    pub scheduling: Scheduling,
}

impl Operation for ThreadScheduling {
    fn scope(&self) -> Scope<'_> {
        Scope::Processes
    }

    fn thread(&self) -> Option<ThreadRef> {
        Some(self.thread)
    }

    fn is_about_same(&self, other: &Act) -> bool {
        matches!(other, Act::SetScheduling { thread, .. } if *thread == self.thread)
    }

    fn for_thread(&self, thread: ThreadRef) -> Option<Act> {
        Some(Act::SetScheduling { thread, scheduling: self.scheduling })
    }

    fn read(&self, kernel: &dyn Kernel) -> io::Result<Value> {
        Ok(Value::Scheduling(kernel.scheduling(self.thread.tid)?))
    }

    fn gives_up(&self, old: &Value) -> Option<String> {
        let Value::Scheduling(state) = old else { return None };
        state.is_lowered_by(&state.with(self.scheduling)).then(|| policy_text(&state.scheduling))
    }

    fn owner_rule(&self, _kernel: &dyn Kernel) -> Option<(ThreadRef, OwnerRule)> {
        Some((self.thread, Users::may_schedule as OwnerRule))
    }

    fn perform(&self, kernel: &dyn Kernel, now: &Value) -> io::Result<()> {
        let Value::Scheduling(state) = now else { return Err(unfit()) };
        kernel.set_scheduling(self.thread.tid, &state.with(self.scheduling))
    }

    fn put_back(&self, kernel: &dyn Kernel, old: &Value, _now: &Value) -> io::Result<()> {
        let Value::Scheduling(old) = old else { return Err(unfit()) };
        kernel.set_scheduling(self.thread.tid, old)
    }

    fn took_effect(&self, now: &Value) -> bool {
        matches!(now, Value::Scheduling(state) if state.scheduling == self.scheduling)
    }

    fn object(&self) -> String {
        of_thread(&self.thread, "scheduling")
    }

    fn asked(&self) -> String {
        policy_text(&self.scheduling)
    }

    fn call(&self) -> String {
        format!("sched_setattr({}, {})", self.thread.tid, self.asked())
    }

    fn refused(&self, error: &io::Error) -> Option<Refusal> {
        if is_permission(error) && is_root() {
            return Some(Refusal::permission(
                "refused even to root: RT_GROUP_SCHED without run time, a sched_ext scheduler that rejects it, or a container",
                "give the cgroup real-time run time (cpu.rt_runtime_us), or move the process to the root cgroup",
            ));
        }
        match error.raw_os_error() {
            Some(libc::EINVAL) => Some(Refusal::usage(
                "the kernel rejects this priority",
                "priority 1 to 99 for fifo and rr, nice -20 to 19 for others",
            )),
            // sched_dl_overflow of kernel/sched/deadline.c.
            Some(libc::EBUSY) => Some(Refusal::unavailable(
                "the run time is promised to SCHED_DEADLINE threads",
                "lower their run time (chrt -d), or leave this thread's policy as it is",
            )),
            _ => None,
        }
    }
}

/// Policies, for the tests that cover every kind.
#[cfg(any(test, feature = "emulated"))]
pub mod sample {
    use machine::{Act, Scheduling};

    use super::ThreadScheduling;
    use crate::acts::samples::{ERRNOS_OF_SCHEDULER, Machine, Sampled, alter_thread, end_thread};
    use crate::kernel::EmulatedKernel;
    use crate::kernel::emulated::EmulatedState;

    /// A real-time policy.
    pub fn acts(machine: &Machine) -> Vec<Act> {
        vec![Act::SetScheduling { thread: machine.first, scheduling: Scheduling::Fifo { priority: 5 } }]
    }

    impl Sampled for ThreadScheduling {
        fn errnos(&self) -> &'static [i32] {
            ERRNOS_OF_SCHEDULER
        }

        fn is_of_process(&self) -> bool {
            true
        }

        fn change_by_others(&self, state: &mut EmulatedState) -> bool {
            alter_thread(state, self.thread.tid, |thread| thread.scheduling.scheduling = Scheduling::Idle)
        }

        fn remove(&self, kernel: &EmulatedKernel) -> bool {
            end_thread(kernel, self.thread.tid)
        }
    }
}
