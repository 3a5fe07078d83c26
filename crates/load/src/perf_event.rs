//! The little of perf_event_open(2) that a storm of timer interrupts needs.

use std::io;
use std::os::fd::{FromRawFd, OwnedFd};

/// `struct perf_event_attr` of include/uapi/linux/perf_event.h in its first published size (PERF_ATTR_SIZE_VER0):
/// every kernel takes it.
#[repr(C)]
#[derive(Default)]
struct Attr {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    bp_type: u32,
    config1: u64,
}

const PERF_TYPE_SOFTWARE: u32 = 1;
const PERF_COUNT_SW_CPU_CLOCK: u64 = 0;
const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 1 << 3;

const _: () = assert!(size_of::<Attr>() == 64);

/// Opens the software CPU clock of one CPU, whatever runs there, with an overflow every `period_ns`. The kernel keeps a
/// timer for it (kernel/events/core.c, perf_swevent_start_hrtimer) whose interrupts go on until the descriptor is closed;
/// no sample is written, since no buffer is mapped.
pub(crate) fn cpu_clock(cpu: u32, period_ns: u64) -> io::Result<OwnedFd> {
    let attr = Attr {
        kind: PERF_TYPE_SOFTWARE,
        size: size_of::<Attr>() as u32,
        config: PERF_COUNT_SW_CPU_CLOCK,
        sample_period: period_ns,
        ..Attr::default()
    };
    let no_pid: libc::pid_t = -1;
    let no_group: libc::c_int = -1;
    // SAFETY: `attr` lives over the call and states its own size; the kernel only reads it.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attr,
            no_pid,
            cpu as libc::c_int,
            no_group,
            PERF_FLAG_FD_CLOEXEC,
        )
    };
    match fd {
        -1 => Err(io::Error::last_os_error()),
        // SAFETY: a descriptor that the kernel just gave us and nobody else knows.
        fd => Ok(unsafe { OwnedFd::from_raw_fd(fd as libc::c_int) }),
    }
}
