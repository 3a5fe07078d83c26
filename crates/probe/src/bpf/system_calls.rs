//! What a thread sleeps for in each system call, by the call's number on this architecture.

use libc::c_long;

use super::records::{SYSTEM_CALLS, sleep_reason};

/// The same number everywhere (6.7 and later); libc has no name for it yet.
const SYS_FUTEX_WAIT: c_long = 455;

/// libc has no name for it with every C library.
#[cfg(target_arch = "x86_64")]
const SYS_IO_PGETEVENTS: c_long = 333;
/// In the table that most architectures share.
#[cfg(not(target_arch = "x86_64"))]
const SYS_IO_PGETEVENTS: c_long = 292;

const FUTEX: &[c_long] = &[libc::SYS_futex, libc::SYS_futex_waitv, SYS_FUTEX_WAIT];

/// Whether with a timeout or without: who waits for input until a time is over does not wait for a timer alone.
const INPUT: &[c_long] = &[
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_ppoll,
    libc::SYS_pselect6,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_preadv,
    libc::SYS_preadv2,
    libc::SYS_recvfrom,
    libc::SYS_recvmsg,
    libc::SYS_recvmmsg,
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_io_getevents,
    SYS_IO_PGETEVENTS,
    libc::SYS_io_uring_enter,
];

/// Calls that newer architectures left out.
#[cfg(target_arch = "x86_64")]
const OLDER_INPUT: &[c_long] = &[libc::SYS_epoll_wait, libc::SYS_poll, libc::SYS_select];
#[cfg(not(target_arch = "x86_64"))]
const OLDER_INPUT: &[c_long] = &[];

const TIMER: &[c_long] = &[libc::SYS_nanosleep, libc::SYS_clock_nanosleep];

const OUTPUT: &[c_long] = &[
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_pwrite64,
    libc::SYS_pwritev,
    libc::SYS_pwritev2,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_sendmmsg,
    libc::SYS_sendfile,
    libc::SYS_splice,
];

const SYNC: &[c_long] = &[
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_sync_file_range,
    libc::SYS_msync,
    libc::SYS_sync,
    libc::SYS_syncfs,
];

const CHILD: &[c_long] = &[libc::SYS_wait4, libc::SYS_waitid];

/// What was interrupted by a stop and goes on. Which call that was, the number no longer says.
const GOES_ON: &[c_long] = &[libc::SYS_restart_syscall];

/// For each number a word of `enum sleep_reason`.
pub(super) fn reasons() -> [u8; SYSTEM_CALLS] {
    let lists = [
        (sleep_reason::FUTEX, FUTEX),
        (sleep_reason::INPUT, INPUT),
        (sleep_reason::INPUT, OLDER_INPUT),
        (sleep_reason::TIMER, TIMER),
        (sleep_reason::OUTPUT, OUTPUT),
        (sleep_reason::SYNC, SYNC),
        (sleep_reason::CHILD, CHILD),
        (sleep_reason::UNKNOWN, GOES_ON),
    ];
    let mut reasons = [sleep_reason::OTHER as u8; SYSTEM_CALLS];
    for (reason, calls) in lists {
        for call in calls {
            reasons[*call as usize] = reason as u8;
        }
    }
    reasons
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_call_is_in_one_list_and_has_its_reason() {
        let reasons = reasons();
        let of = |call: c_long| u32::from(reasons[call as usize]);
        assert_eq!(of(libc::SYS_futex), sleep_reason::FUTEX);
        // With a timeout, too.
        assert_eq!(of(libc::SYS_epoll_pwait), sleep_reason::INPUT);
        assert_eq!(of(libc::SYS_clock_nanosleep), sleep_reason::TIMER);
        assert_eq!(of(libc::SYS_sendmsg), sleep_reason::OUTPUT);
        assert_eq!(of(libc::SYS_waitid), sleep_reason::CHILD);
        assert_eq!(of(libc::SYS_restart_syscall), sleep_reason::UNKNOWN);
        // Waiting for a signal until a time is over is neither a timer nor input.
        assert_eq!(of(libc::SYS_rt_sigtimedwait), sleep_reason::OTHER);
        let listed = [FUTEX, INPUT, OLDER_INPUT, TIMER, OUTPUT, SYNC, CHILD].map(<[c_long]>::len);
        let other = reasons.iter().filter(|reason| u32::from(**reason) == sleep_reason::OTHER).count();
        assert_eq!(
            listed.iter().sum::<usize>(),
            SYSTEM_CALLS - other - GOES_ON.len(),
            "a call is listed twice"
        );
    }
}
