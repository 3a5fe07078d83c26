//! What a refusal by the kernel means, and what the reader can do about it.

mod errno;

use std::io;

use machine::{Class, Fault};

use super::Operation;
use crate::namespace;

/// "Operation is not supported", of the kernel alone (include/linux/errno.h), which some drivers and files let out.
pub const ENOTSUPP: i32 = 524;

/// The meaning of an error.
#[derive(Debug, Clone, Copy)]
pub struct Refusal {
    /// Class of the fault.
    pub class: Class,
    /// What the error means; empty where its own words say it.
    pub meaning: &'static str,
    /// What to do.
    pub remedy: &'static str,
}

impl Refusal {
    /// One of something that the machine cannot do.
    pub fn unavailable(meaning: &'static str, remedy: &'static str) -> Self {
        Self { class: Class::MachineLacks, meaning, remedy }
    }

    /// One of a value that does not fit.
    pub fn usage(meaning: &'static str, remedy: &'static str) -> Self {
        Self { class: Class::Usage, meaning, remedy }
    }

    /// One of missing permission.
    pub fn permission(meaning: &'static str, remedy: &'static str) -> Self {
        Self { class: Class::NotPermitted, meaning, remedy }
    }

    /// One of a file that cannot be written.
    pub fn storage(remedy: &'static str) -> Self {
        Self { class: Class::Storage, meaning: "", remedy }
    }
}

/// A fault for an act that the kernel refused.
pub fn refusal(operation: &dyn Operation, error: &io::Error) -> Fault {
    let Refusal { class, meaning, remedy } =
        operation.refused(error).unwrap_or_else(|| usual(operation, error));
    let cause = match meaning {
        "" => error.to_string(),
        _ => format!("{meaning} ({error})"),
    };
    Fault::new(class, operation.object(), cause, remedy)
}

/// Of an error that no act is known to meet.
const UNKNOWN: Refusal = Refusal {
    class: Class::MachineLacks,
    meaning: "",
    remedy: "see the kernel's log (dmesg) and its documentation of this file or call",
};

fn usual(operation: &dyn Operation, error: &io::Error) -> Refusal {
    match error.raw_os_error() {
        Some(libc::EPERM | libc::EACCES) if is_root() => Refusal::permission(
            "root does not have this right here, as in a container",
            "run outside of the container, or with the capabilities that it was started without (CAP_SYS_ADMIN, CAP_SYS_NICE)",
        ),
        Some(libc::EPERM | libc::EACCES) => Refusal::permission(
            "",
            "run as root (or with CAP_SYS_NICE for processes of others, CAP_SYS_ADMIN for files and cgroups)",
        ),
        Some(libc::ENOENT | libc::ESRCH) => Refusal::unavailable(
            "it does not exist (any more)",
            match operation.lives_with() {
                Some(_) => "the process ended in the meantime: nothing to do",
                None => "check its name and path: it may be gone, or a folder above it",
            },
        ),
        Some(number) => errno::meaning(number).unwrap_or(UNKNOWN),
        None if error.kind() == io::ErrorKind::Unsupported => {
            Refusal::unavailable("", "leave it: it could not be put back exactly")
        }
        None => match namespace::remedy(error) {
            Some(remedy) => Refusal::unavailable("", remedy),
            None => UNKNOWN,
        },
    }
}

/// Whether the error is one of missing permission.
pub fn is_permission(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::EPERM | libc::EACCES))
}

/// Whether the error says that something is not there.
pub fn is_missing(error: &io::Error) -> bool {
    matches!(error.raw_os_error(), Some(libc::ENOENT | libc::ESRCH))
}

/// Whether this process is root's.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}
