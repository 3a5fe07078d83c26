//! What the measurements share: runs in randomised blocks, CPU time, servers that pause, loops that want quiet,
//! and machines of any size as trees of files.

pub mod blocks;
pub mod cpu_time;
pub mod delay;
pub mod gaps;
mod kernel_programs;
pub mod kernel_tables;
#[path = "../../crates/probe/tests/large/mod.rs"]
#[allow(clippy::unwrap_used, missing_docs)]
pub mod large;
pub mod nothing;
pub mod pauses;
pub mod system_time;
pub mod tree;
