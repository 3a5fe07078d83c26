//! The fault when the kernel refuses a BPF program for which there is no fallback.

use machine::{Class, Fault, Missing};

/// BPF programs without a fallback cannot run here.
pub(super) fn refused(missing: Missing, remedy: &str) -> Fault {
    let permitted = rustix::process::geteuid().is_root();
    let class = if permitted { Class::MachineLacks } else { Class::NotPermitted };
    Fault::new(class, missing.fact, missing.why, remedy)
}
