//! Names of what the kernel's programs know by number.

pub mod names;
pub mod symbols;
