//! The utilization clamps of a thread (sched_setattr(2)).

use std::io;

use machine::{Act, ThreadRef, UtilClamp};

use super::operation::refusal::Refusal;
use super::{Operation, OwnerRule, of_thread, unfit};
use crate::kernel::{Kernel, Users};
use crate::record::Value;
use crate::subject::Scope;

/// Sets a thread's clamps.
pub struct Clamp {
    pub thread: ThreadRef,
    pub clamp: UtilClamp,
}

impl Operation for Clamp {
    fn scope(&self) -> Scope<'_> {
        Scope::Processes
    }

    fn thread(&self) -> Option<ThreadRef> {
        Some(self.thread)
    }

    fn is_about_same(&self, other: &Act) -> bool {
        matches!(other, Act::SetUtilClamp { thread, .. } if *thread == self.thread)
    }

    fn for_thread(&self, thread: ThreadRef) -> Option<Act> {
        Some(Act::SetUtilClamp { thread, clamp: self.clamp })
    }

    fn read(&self, kernel: &dyn Kernel) -> io::Result<Value> {
        Ok(Value::UtilClamp(kernel.util_clamp(self.thread.tid)?))
    }

    fn owner_rule(&self, _kernel: &dyn Kernel) -> Option<(ThreadRef, OwnerRule)> {
        Some((self.thread, Users::may_schedule as OwnerRule))
    }

    fn perform(&self, kernel: &dyn Kernel, _now: &Value) -> io::Result<()> {
        kernel.set_util_clamp(self.thread.tid, self.clamp)
    }

    fn put_back(&self, kernel: &dyn Kernel, old: &Value, _now: &Value) -> io::Result<()> {
        let Value::UtilClamp(clamp) = old else { return Err(unfit()) };
        kernel.set_util_clamp(self.thread.tid, *clamp)
    }

    fn took_effect(&self, now: &Value) -> bool {
        *now == Value::UtilClamp(self.clamp)
    }

    fn object(&self) -> String {
        of_thread(&self.thread, "utilization clamp")
    }

    fn asked(&self) -> String {
        Value::UtilClamp(self.clamp).to_string()
    }

    fn call(&self) -> String {
        format!("sched_setattr({}, utilization {})", self.thread.tid, self.asked())
    }

    fn refused(&self, error: &io::Error) -> Option<Refusal> {
        match error.raw_os_error() {
            Some(libc::EOPNOTSUPP | libc::E2BIG) => Some(Refusal::unavailable(
                "this kernel has no utilization clamps (CONFIG_UCLAMP_TASK)",
                "use the knobs frequency-min or frequency-governor",
            )),
            Some(libc::EINVAL | libc::ERANGE) => Some(Refusal::usage(
                "the kernel rejects these clamps",
                "write MIN-MAX with MIN not above MAX, and both within 0 to 1024",
            )),
            _ => None,
        }
    }
}

/// Clamps, for the tests that cover every kind.
#[cfg(any(test, feature = "emulated"))]
pub mod sample {
    use libc::{E2BIG, EBUSY, EINVAL, EOPNOTSUPP, ERANGE, ESRCH};
    use machine::{Act, UtilClamp};

    use super::Clamp;
    use crate::acts::samples::{Machine, Sampled, alter_thread, end_thread};
    use crate::kernel::EmulatedKernel;
    use crate::kernel::emulated::EmulatedState;

    /// A lower bound.
    pub fn acts(machine: &Machine) -> Vec<Act> {
        vec![Act::SetUtilClamp { thread: machine.first, clamp: UtilClamp { min: 512, max: 1024 } }]
    }

    impl Sampled for Clamp {
        /// kernel/sched/syscalls.c.
        fn errnos(&self) -> &'static [i32] {
            &[EBUSY, EINVAL, ERANGE, ESRCH, E2BIG, EOPNOTSUPP]
        }

        fn is_of_process(&self) -> bool {
            true
        }

        fn change_by_others(&self, state: &mut EmulatedState) -> bool {
            let clamp = UtilClamp { min: 7, max: 9 };
            alter_thread(state, self.thread.tid, |thread| thread.util_clamp = clamp)
        }

        fn remove(&self, kernel: &EmulatedKernel) -> bool {
            end_thread(kernel, self.thread.tid)
        }
    }
}
