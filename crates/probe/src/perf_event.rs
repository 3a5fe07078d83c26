//! The little of perf_event_open(2) that is needed here: counters of a thread, and the clock that a storm of timer interrupts rides on.

use std::io;
use std::os::fd::{FromRawFd as _, OwnedFd};

/// `struct perf_event_attr` of include/uapi/linux/perf_event.h in its first published size (PERF_ATTR_SIZE_VER0):
/// every kernel takes it.
#[repr(C)]
#[derive(Default)]
struct Attributes {
    kind: u32,
    size: u32,
    config: u64,
    sample_period: u64,
    sample_type: u64,
    read_format: u64,
    flags: u64,
    wakeup_events: u32,
    breakpoint_type: u32,
    config1: u64,
}

const _: () = assert!(size_of::<Attributes>() == 64);

const PERF_TYPE_HARDWARE: u32 = 0;
const PERF_TYPE_SOFTWARE: u32 = 1;
const PERF_COUNT_SW_CPU_CLOCK: u64 = 0;
const PERF_FLAG_FD_CLOEXEC: libc::c_ulong = 1 << 3;
/// PERF_FORMAT_TOTAL_TIME_ENABLED and PERF_FORMAT_TOTAL_TIME_RUNNING.
const WITH_TIMES: u64 = 1 | 2;
const INHERIT: u64 = 1 << 1;
const EXCLUDE_HYPERVISOR: u64 = 1 << 6;

/// Opens the software CPU clock of one CPU, whatever runs there, with an overflow every `period_ns`. The kernel keeps a
/// timer for it (kernel/events/core.c, perf_swevent_start_hrtimer) whose interrupts go on until the descriptor is closed;
/// no sample is written, since no buffer is mapped.
///
/// # Errors
/// Those of perf_event_open(2).
pub fn cpu_clock(cpu: u32, period_ns: u64) -> io::Result<OwnedFd> {
    let attributes = Attributes {
        kind: PERF_TYPE_SOFTWARE,
        config: PERF_COUNT_SW_CPU_CLOCK,
        sample_period: period_ns,
        ..Attributes::default()
    };
    open(attributes, -1, cpu as libc::c_int)
}

/// Opens a counter of the hardware (`perf_hw_id` of the kernel's header) for a thread on whatever CPU it runs, and for the threads that it
/// starts. Reading it gives three words: its value, and for how long it was to run and did, ns.
///
/// # Errors
/// Those of perf_event_open(2): ENOENT where there is no such counter.
pub(crate) fn hardware_counter(config: u64, tid: u32) -> io::Result<OwnedFd> {
    let attributes = Attributes {
        kind: PERF_TYPE_HARDWARE,
        config,
        read_format: WITH_TIMES,
        flags: INHERIT | EXCLUDE_HYPERVISOR,
        ..Attributes::default()
    };
    open(attributes, tid as libc::pid_t, -1)
}

/// Opens an event of a thread, or with -1 of all, on a CPU, or with -1 on all; in no group.
fn open(attributes: Attributes, tid: libc::pid_t, cpu: libc::c_int) -> io::Result<OwnedFd> {
    let attributes = Attributes { size: size_of::<Attributes>() as u32, ..attributes };
    let no_group: libc::c_int = -1;
    // SAFETY: `attributes` lives over the call and states its own size; the kernel only reads it.
    let fd = unsafe {
        libc::syscall(
            libc::SYS_perf_event_open,
            &raw const attributes,
            tid,
            cpu,
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
