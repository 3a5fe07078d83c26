//! The scheduler's system calls, with masks of any length (`cpu_set_t` ends at 1,024 CPUs).

use std::io;

use machine::{CpuSet, Scheduling};

use crate::kernel::scheduling_state::SchedulingState;
use crate::kernel::syscall::check;

const BITS: u32 = libc::c_ulong::BITS;

/// SCHED_DEADLINE of include/uapi/linux/sched.h.
pub(crate) const SCHED_DEADLINE: u32 = 6;

/// `struct sched_attr` of include/uapi/linux/sched/types.h in its first version, which every kernel takes.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct SchedAttr {
    size: u32,
    pub(crate) policy: u32,
    flags: u64,
    nice: i32,
    priority: u32,
    runtime_ns: u64,
    deadline_ns: u64,
    period_ns: u64,
}

impl SchedAttr {
    /// Flags and nothing else, for a structure of `size` bytes that begins with this one.
    pub(crate) fn of_flags(flags: u64, size: u32) -> Self {
        Self { size, flags, ..Self::default() }
    }
}

const RESET_ON_FORK: u64 = 1; // SCHED_FLAG_RESET_ON_FORK

/// sched_setaffinity(2); `tid` 0 is the calling thread.
pub fn set_affinity(tid: u32, cpus: &CpuSet) -> io::Result<()> {
    let words = cpus.last().map_or(1, |highest| highest / BITS + 1);
    let mut mask: Vec<libc::c_ulong> = vec![0; words as usize];
    for cpu in cpus.iter() {
        mask[(cpu / BITS) as usize] |= 1 << (cpu % BITS);
    }
    // SAFETY: the pointer and the length in bytes describe `mask`, which the call only reads.
    check(unsafe {
        libc::syscall(libc::SYS_sched_setaffinity, tid, size_of_val(mask.as_slice()), mask.as_ptr())
    })
}

/// sched_getattr(2) and getpriority(2); `tid` 0 is the calling thread.
///
/// # Errors
/// `Unsupported` for policies that [`Scheduling`] has no name for.
pub fn scheduling(tid: u32) -> io::Result<SchedulingState> {
    let mut attr = SchedAttr::default();
    // SAFETY: the kernel writes at most the given size into `attr`, which is plain old data of that size.
    check(unsafe { libc::syscall(libc::SYS_sched_getattr, tid, &raw mut attr, size_of::<SchedAttr>(), 0) })?;
    let nice = nice(tid)?;
    let scheduling = match attr.policy as i32 {
        libc::SCHED_OTHER => Scheduling::Other { nice },
        libc::SCHED_BATCH => Scheduling::Batch { nice },
        libc::SCHED_IDLE => Scheduling::Idle,
        libc::SCHED_FIFO => Scheduling::Fifo { priority: attr.priority as i32 },
        libc::SCHED_RR => Scheduling::RoundRobin { priority: attr.priority as i32 },
        other => {
            let why = format!("pinwise cannot restore its scheduling policy, number {other}");
            return Err(io::Error::new(io::ErrorKind::Unsupported, why));
        }
    };
    Ok(SchedulingState { scheduling, nice, reset_on_fork: attr.flags & RESET_ON_FORK != 0 })
}

/// sched_setattr(2); and setpriority(2) for the nice value of a real-time thread, which the first call ignores.
pub fn set_scheduling(tid: u32, state: &SchedulingState) -> io::Result<()> {
    let (policy, priority) = match state.scheduling {
        Scheduling::Other { .. } => (libc::SCHED_OTHER, 0),
        Scheduling::Batch { .. } => (libc::SCHED_BATCH, 0),
        Scheduling::Idle => (libc::SCHED_IDLE, 0),
        Scheduling::Fifo { priority } => (libc::SCHED_FIFO, priority),
        Scheduling::RoundRobin { priority } => (libc::SCHED_RR, priority),
    };
    let attr = SchedAttr {
        size: size_of::<SchedAttr>() as u32,
        policy: policy as u32,
        flags: if state.reset_on_fork { RESET_ON_FORK } else { 0 },
        nice: state.nice,
        // A negative priority becomes a huge one, which the kernel refuses with EINVAL.
        priority: priority as u32,
        ..SchedAttr::default()
    };
    // SAFETY: the call reads `attr`, whose first field says its size.
    check(unsafe { libc::syscall(libc::SYS_sched_setattr, tid, &raw const attr, 0) })?;
    let keeps_nice_aside =
        matches!(state.scheduling, Scheduling::Fifo { .. } | Scheduling::RoundRobin { .. });
    if keeps_nice_aside && nice(tid)? != state.nice {
        // SAFETY: no pointers.
        check(unsafe { libc::syscall(libc::SYS_setpriority, libc::PRIO_PROCESS, tid, state.nice) })?;
    }
    Ok(())
}

/// Nice value by the raw call, which returns 20 - nice, so that no value looks like an error.
fn nice(tid: u32) -> io::Result<i32> {
    // SAFETY: no pointers.
    let raw = unsafe { libc::syscall(libc::SYS_getpriority, libc::PRIO_PROCESS, tid) };
    if raw < 0 { Err(io::Error::last_os_error()) } else { Ok(20 - raw as i32) }
}

const IOPRIO_WHO_PROCESS: libc::c_int = 1; // one thread, despite the name

/// ioprio_get(2).
pub fn io_priority(tid: u32) -> io::Result<u16> {
    // SAFETY: no pointers.
    let raw = unsafe { libc::syscall(libc::SYS_ioprio_get, IOPRIO_WHO_PROCESS, tid) };
    if raw < 0 { Err(io::Error::last_os_error()) } else { Ok(raw as u16) }
}

/// ioprio_set(2).
pub fn set_io_priority(tid: u32, raw: u16) -> io::Result<()> {
    // SAFETY: no pointers.
    check(unsafe { libc::syscall(libc::SYS_ioprio_set, IOPRIO_WHO_PROCESS, tid, libc::c_int::from(raw)) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_past_1024_cpus_is_taken_and_what_does_not_exist_is_refused() {
        let nowhere = CpuSet::single(100_000);
        assert_eq!(set_affinity(0, &nowhere).unwrap_err().raw_os_error(), Some(libc::EINVAL));
        // The kernel ignores CPUs that do not exist as long as others remain. A new thread, since this one would keep it.
        std::thread::spawn(|| set_affinity(0, &(0..100_000).collect()).unwrap()).join().unwrap();
    }

    #[test]
    fn scheduling_of_a_thread_is_read_changed_and_restored() {
        std::thread::spawn(|| {
            let old = scheduling(0).unwrap();
            set_scheduling(0, &old.with(Scheduling::Batch { nice: old.nice })).unwrap();
            assert_eq!(scheduling(0).unwrap().scheduling, Scheduling::Batch { nice: old.nice });
            assert!(set_scheduling(0, &old.with(Scheduling::Fifo { priority: -1 })).is_err());
            set_scheduling(0, &old).unwrap();
            assert_eq!(scheduling(0).unwrap(), old);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn an_io_priority_is_read_changed_and_restored() {
        std::thread::spawn(|| {
            let old = io_priority(0).unwrap();
            set_io_priority(0, 2 << 13 | 6).unwrap();
            assert_eq!(io_priority(0).unwrap(), 2 << 13 | 6);
            assert!(set_io_priority(0, 7 << 13).is_err());
            set_io_priority(0, old).unwrap();
            assert_eq!(io_priority(0).unwrap(), old);
        })
        .join()
        .unwrap();
    }
}
