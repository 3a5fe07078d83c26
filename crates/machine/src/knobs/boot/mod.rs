//! What the kernel is booted with.

pub mod boot_parameters;
