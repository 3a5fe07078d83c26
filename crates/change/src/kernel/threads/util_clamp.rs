//! Utilization clamps of threads: sched_getattr(2) and sched_setattr(2) in the version of Linux 5.3.

use std::io;

use machine::UtilClamp;

use super::sched::SchedAttr;
use crate::kernel::syscall::check;

/// `struct sched_attr` in its second version, which appends to the first.
#[repr(C)]
#[derive(Debug, Clone, Copy, Default)]
struct SchedAttrWithClamps {
    first: SchedAttr,
    util_min: u32,
    util_max: u32,
}

const SIZE: usize = size_of::<SchedAttrWithClamps>();
const _: () = assert!(SIZE == 56); // SCHED_ATTR_SIZE_VER1

const KEEP_ALL: u64 = 0x08 | 0x10; // SCHED_FLAG_KEEP_POLICY, SCHED_FLAG_KEEP_PARAMS
const UTIL_CLAMP: u64 = 0x20 | 0x40; // SCHED_FLAG_UTIL_CLAMP_MIN, _MAX
/// Stands for the kernel's default.
const RESET: u32 = u32::MAX;

/// The clamps of a thread; `tid` 0 is the calling one.
///
/// # Errors
/// `EOPNOTSUPP` on a kernel without clamps.
pub fn get(tid: u32) -> io::Result<UtilClamp> {
    let attr = attr(tid)?;
    let clamp = UtilClamp { min: attr.util_min, max: attr.util_max };
    // A kernel without clamps leaves both at 0. A maximum of 0 on a kernel with clamps looks the same, but nobody
    // gets it by default, and to restore a wrong value would be worse than to refuse.
    match clamp {
        UtilClamp { min: 0, max: 0 } => Err(io::Error::from_raw_os_error(libc::EOPNOTSUPP)),
        clamp => Ok(clamp),
    }
}

/// Default of the lower clamp for a thread of this policy (kernel/sched/core.c).
fn default_min(policy: u32) -> u32 {
    const OF_REAL_TIME: &str = "/proc/sys/kernel/sched_util_clamp_min_rt_default";
    match policy as i32 {
        libc::SCHED_FIFO | libc::SCHED_RR => {
            let text = std::fs::read_to_string(OF_REAL_TIME).ok();
            // Before Linux 5.9 there was no such file, and the default was always this.
            text.and_then(|text| text.trim().parse().ok()).unwrap_or(1024)
        }
        _ => 0,
    }
}

fn attr(tid: u32) -> io::Result<SchedAttrWithClamps> {
    let mut attr = SchedAttrWithClamps::default();
    // SAFETY: the kernel writes at most the given size into `attr`, which is plain old data of that size.
    check(unsafe { libc::syscall(libc::SYS_sched_getattr, tid, &raw mut attr, SIZE, 0) })?;
    Ok(attr)
}

/// Sets the clamps of a thread and leaves the rest of its scheduling as it is.
///
/// # Errors
/// As [`get`]; `EINVAL` for a minimum above the maximum.
pub fn set(tid: u32, clamp: UtilClamp) -> io::Result<()> {
    let or_default = |value, default| if value == default { RESET } else { value };
    let least = default_min(attr(tid)?.first.policy);
    let attr = SchedAttrWithClamps {
        first: SchedAttr::of_flags(KEEP_ALL | UTIL_CLAMP, SIZE as u32),
        util_min: or_default(clamp.min, least),
        util_max: or_default(clamp.max, 1024),
    };
    // SAFETY: the call reads `attr`, whose first field says its size.
    check(unsafe { libc::syscall(libc::SYS_sched_setattr, tid, &raw const attr, 0) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_real_time_thread_is_a_full_load_by_default() {
        assert_eq!((default_min(libc::SCHED_OTHER as u32), default_min(libc::SCHED_BATCH as u32)), (0, 0));
        let of_real_time = default_min(libc::SCHED_FIFO as u32);
        assert_eq!(of_real_time, default_min(libc::SCHED_RR as u32));
        assert!(of_real_time <= 1024);
    }

    #[test]
    fn clamps_are_set_and_restored_or_reported_as_absent() {
        std::thread::spawn(|| match get(0) {
            Ok(old) => {
                let half = UtilClamp { min: 512, max: 1024 };
                set(0, half).unwrap();
                assert_eq!(get(0).unwrap(), half);
                set(0, old).unwrap();
                assert_eq!(get(0).unwrap(), old);
            }
            Err(error) => {
                assert_eq!(error.raw_os_error(), Some(libc::EOPNOTSUPP));
                assert!(set(0, UtilClamp { min: 512, max: 1024 }).is_err());
            }
        })
        .join()
        .unwrap();
    }
}
