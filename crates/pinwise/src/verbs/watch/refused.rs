//! The fault when the kernel does not take a program that nothing else can stand in for.

use machine::{Class, Fault, Missing};

/// Programs that nothing else can stand in for cannot run here.
pub(super) fn refused(missing: Missing, remedy: &str) -> Fault {
    let permitted = rustix::process::geteuid().is_root();
    let class = if permitted { Class::MachineLacks } else { Class::NotPermitted };
    Fault::new(class, missing.fact, missing.why, remedy)
}
