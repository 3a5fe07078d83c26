//! Cgroups that confine a launched process: to CPUs, or to an amount of memory.

pub(crate) mod cpuset;
pub(crate) mod memory;
pub(crate) mod placement;
