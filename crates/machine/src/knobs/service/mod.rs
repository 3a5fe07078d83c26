//! What services are started with.

pub mod memory_policy;
pub mod unit_command;
pub mod unit_drop_in;
pub mod unit_environment;
