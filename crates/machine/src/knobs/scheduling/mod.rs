//! Which task gets a CPU first.

pub mod autogroup;
pub mod autogroup_nice;
pub mod rt_runtime;
pub mod scheduling_policy;
pub mod timer_migration;
pub mod utilization_clamp;
