//! How the disk scheduler ranks a thread's requests (ioprio_set(2)).

use std::io;

use machine::{Act, IoPriority, ThreadRef};

use super::operation::refusal::Refusal;
use super::{Operation, OwnerRule, of_thread, unfit};
use crate::kernel::{Kernel, Users};
use crate::record::Value;
use crate::subject::Scope;

/// Sets the rank of a thread's disk requests.
pub struct DiskPriority {
    pub thread: ThreadRef,
    pub priority: IoPriority,
}

fn rank(value: &Value) -> Option<IoPriority> {
    match value {
        Value::IoPriority(raw) => IoPriority::from_raw(*raw),
        _ => None,
    }
}

impl Operation for DiskPriority {
    fn scope(&self) -> Scope<'_> {
        Scope::Processes
    }

    fn thread(&self) -> Option<ThreadRef> {
        Some(self.thread)
    }

    fn is_about_same(&self, other: &Act) -> bool {
        matches!(other, Act::SetIoPriority { thread, .. } if *thread == self.thread)
    }

    fn for_thread(&self, thread: ThreadRef) -> Option<Act> {
        Some(Act::SetIoPriority { thread, priority: self.priority })
    }

    fn read(&self, kernel: &dyn Kernel) -> io::Result<Value> {
        let raw = kernel.io_priority(self.thread.tid)?;
        if IoPriority::from_raw(raw).is_none() {
            let why = format!("its I/O priority has the unknown number {raw}");
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
        Ok(Value::IoPriority(raw))
    }

    fn gives_up(&self, old: &Value) -> Option<String> {
        rank(old).filter(|rank| matches!(rank, IoPriority::RealTime { .. })).map(|rank| rank.to_string())
    }

    fn owner_rule(&self, _kernel: &dyn Kernel) -> Option<(ThreadRef, OwnerRule)> {
        Some((self.thread, Users::may_rank_requests as OwnerRule))
    }

    fn perform(&self, kernel: &dyn Kernel, _now: &Value) -> io::Result<()> {
        kernel.set_io_priority(self.thread.tid, self.priority.to_raw())
    }

    fn put_back(&self, kernel: &dyn Kernel, old: &Value, _now: &Value) -> io::Result<()> {
        let Value::IoPriority(raw) = old else { return Err(unfit()) };
        // Only the class of `none` is taken, whatever number older kernels show beside it.
        let none = rank(old) == Some(IoPriority::None);
        kernel.set_io_priority(self.thread.tid, if none { 0 } else { *raw })
    }

    fn same(&self, a: &Value, b: &Value) -> bool {
        match (a, b) {
            (Value::IoPriority(_), Value::IoPriority(_)) => rank(a) == rank(b),
            _ => a == b,
        }
    }

    fn took_effect(&self, now: &Value) -> bool {
        rank(now) == Some(self.priority)
    }

    fn object(&self) -> String {
        of_thread(&self.thread, "rank of disk requests")
    }

    fn asked(&self) -> String {
        self.priority.to_string()
    }

    fn call(&self) -> String {
        format!("ioprio_set({}, {})", self.thread.tid, self.priority)
    }

    fn refused(&self, error: &io::Error) -> Option<Refusal> {
        (error.raw_os_error() == Some(libc::EINVAL)).then(|| {
            Refusal::usage(
                "the kernel rejects this rank",
                "write none, idle, best-effort:0 to 7 or real-time:0 to 7",
            )
        })
    }
}

/// Ranks, for the tests that cover every kind.
#[cfg(any(test, feature = "emulated"))]
pub mod sample {
    use libc::{EINVAL, ESRCH};
    use machine::{Act, IoPriority};

    use super::DiskPriority;
    use crate::acts::samples::{Machine, Sampled, alter_thread, end_thread};
    use crate::kernel::EmulatedKernel;
    use crate::kernel::emulated::EmulatedState;

    /// One of the usual class.
    pub fn acts(machine: &Machine) -> Vec<Act> {
        vec![Act::SetIoPriority { thread: machine.first, priority: IoPriority::BestEffort { level: 1 } }]
    }

    impl Sampled for DiskPriority {
        /// block/ioprio.c.
        fn errnos(&self) -> &'static [i32] {
            &[EINVAL, ESRCH]
        }

        fn is_of_process(&self) -> bool {
            true
        }

        fn change_by_others(&self, state: &mut EmulatedState) -> bool {
            alter_thread(state, self.thread.tid, |thread| thread.io_priority = 3 << 13)
        }

        fn remove(&self, kernel: &EmulatedKernel) -> bool {
            end_thread(kernel, self.thread.tid)
        }
    }
}
