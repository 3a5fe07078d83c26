//! What an error number of the kernel means of any act, where the act has no meaning of its own for it (errno(3)).

use super::{ENOTSUPP, Refusal};

/// The meaning of an error number; `None` where it has none for an act.
pub(super) fn meaning(errno: i32) -> Option<Refusal> {
    of_request(errno).or_else(|| of_machine(errno)).or_else(|| of_moment(errno))
}

/// What is asked for does not fit.
fn of_request(errno: i32) -> Option<Refusal> {
    Some(match errno {
        libc::EINVAL | libc::ERANGE | libc::EOVERFLOW | libc::E2BIG | libc::EDOM | libc::EFAULT => {
            Refusal::usage(
                "the kernel rejects this value",
                "check it against what is there now, and that its CPUs and nodes are online",
            )
        }
        libc::EEXIST => Refusal::usage(
            "there is one already",
            "remove it if it is no longer used, or choose another name",
        ),
        libc::ENOTDIR | libc::EISDIR | libc::ELOOP | libc::ENAMETOOLONG => Refusal::usage(
            "the path does not lead to an object of this kind",
            "check each part of the path: what is a folder, and what is a file",
        ),
        _ => return None,
    })
}

/// The machine does not have it, or does not give it.
fn of_machine(errno: i32) -> Option<Refusal> {
    Some(match errno {
        libc::EOPNOTSUPP | ENOTSUPP | libc::ENOSYS | libc::ENOTTY => Refusal::unavailable(
            "this kernel, driver or device cannot do it",
            "leave it: it is there for other kernels or devices of its kind",
        ),
        libc::ENODEV | libc::ENXIO => Refusal::unavailable(
            "the device behind it is gone",
            "see whether it was removed, or its driver unloaded (dmesg)",
        ),
        libc::EROFS => Refusal::unavailable(
            "it lies on a read-only mount, as in a container",
            "run outside of the container, or mount it read-write",
        ),
        libc::EIO | libc::EREMOTEIO | libc::EPROTO => {
            Refusal::unavailable("the device or its driver failed", "see the kernel's log: dmesg")
        }
        libc::ENETDOWN => Refusal::unavailable("the interface is down", "ip link set DEVICE up"),
        libc::ENOSPC | libc::EDQUOT | libc::EFBIG => Refusal::unavailable(
            "there is no room for it: on the disk, under a limit, or in a table of the kernel",
            "free some, or raise the limit (quota, ulimit -f)",
        ),
        _ => return None,
    })
}

/// It may work at another time.
fn of_moment(errno: i32) -> Option<Refusal> {
    Some(match errno {
        libc::EBUSY | libc::ETXTBSY => Refusal::unavailable(
            "something else holds it at the moment",
            "see who owns it in docs/knobs.md, or try again",
        ),
        libc::ENOMEM | libc::ENOBUFS => {
            Refusal::unavailable("the kernel has no memory for it", "end what uses it, and try again")
        }
        libc::EAGAIN => Refusal::unavailable(
            "the kernel cannot do it at the moment, or a limit on processes or cgroups is reached",
            "try again; if it stays so, raise the limit (ulimit -u, pids.max, cgroup.max.descendants)",
        ),
        libc::EINTR => Refusal::unavailable("a signal interrupted it", "try again"),
        libc::ETIMEDOUT => {
            Refusal::unavailable("the device did not answer in time", "try again; dmesg may say why")
        }
        libc::EMFILE | libc::ENFILE => Refusal::unavailable(
            "too many files are open",
            "raise the limit: ulimit -n for this process, fs.file-max for the machine",
        ),
        _ => return None,
    })
}
