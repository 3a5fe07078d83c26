//! Threads: where they run, and what the scheduler gives them.

#[cfg(any(test, feature = "emulated"))]
mod emulated;
mod live;
pub(crate) mod sched;
mod users;
mod util_clamp;

use std::io;

use machine::{CpuSet, UtilClamp};

use super::scheduling_state::SchedulingState;
pub use users::Users;

/// Reads and sets the scheduling of threads. `tid` is the number of a thread; 0 is the calling one.
///
/// Every method fails with `ESRCH` or `NotFound` when there is no such thread, and with `EPERM` or `EACCES` when the
/// caller may not do it.
pub trait Threads {
    /// CPUs that a thread may use, including those that are offline (`Cpus_allowed_list` in its status).
    fn affinity(&self, pid: u32, tid: u32) -> io::Result<CpuSet>;

    /// sched_setaffinity(2), with a mask as long as the set needs.
    ///
    /// # Errors
    /// `EINVAL` when the cpuset of the thread allows none of the CPUs, and when the thread [is bound](Threads::is_bound).
    fn set_affinity(&self, tid: u32, cpus: &CpuSet) -> io::Result<()>;

    /// Whether the kernel pins a thread itself and refuses to set its CPUs (PF_NO_SETAFFINITY of include/linux/sched.h, among the flags
    /// of its stat); `None` where that cannot be read.
    fn is_bound(&self, pid: u32, tid: u32) -> Option<bool>;

    /// sched_getattr(2).
    ///
    /// # Errors
    /// `Unsupported` for policies that [`Scheduling`](machine::Scheduling) has no name for (SCHED_DEADLINE, ...).
    fn scheduling(&self, tid: u32) -> io::Result<SchedulingState>;

    /// sched_setattr(2), and setpriority(2) for the nice value of a real-time thread.
    fn set_scheduling(&self, tid: u32, state: &SchedulingState) -> io::Result<()>;

    /// ioprio_get(2): class and level in its raw number.
    fn io_priority(&self, tid: u32) -> io::Result<u16>;

    /// ioprio_set(2).
    fn set_io_priority(&self, tid: u32, raw: u16) -> io::Result<()>;

    /// Utilization clamps, by sched_getattr(2).
    ///
    /// # Errors
    /// `Unsupported` on a kernel without clamps (CONFIG_UCLAMP_TASK).
    fn util_clamp(&self, tid: u32) -> io::Result<UtilClamp>;

    /// Sets the clamps alone, by sched_setattr(2). A clamp without effect goes back to the kernel's default.
    ///
    /// # Errors
    /// As [`util_clamp`](Threads::util_clamp).
    fn set_util_clamp(&self, tid: u32, clamp: UtilClamp) -> io::Result<()>;

    /// Whether this process may raise a priority (CAP_SYS_NICE). Without it a priority that was lowered stays low.
    fn may_raise_priority(&self) -> bool;

    /// The users of a thread, as the user namespace of this process numbers them.
    ///
    /// # Errors
    /// `Unsupported` when the thread is seen to be in another user namespace, in which this process may have rights that its own
    /// capabilities do not show.
    fn users(&self, pid: u32, tid: u32) -> io::Result<Users>;

    /// The users of the calling thread.
    fn own_users(&self) -> Users;

    /// Start of a thread in clock ticks since boot (`starttime` of proc_pid_stat(5)).
    ///
    /// # Errors
    /// `NotFound` when there is no such thread; `PermissionDenied` when there is, and /proc does not show it.
    fn start_time(&self, pid: u32, tid: u32) -> io::Result<u64>;

    /// Threads of a process, in no order.
    ///
    /// # Errors
    /// `NotFound` when there is no such process.
    fn threads(&self, pid: u32) -> io::Result<Vec<u32>>;
}
