//! Which CPUs processes may use, and what is theirs alone.

pub mod cpuset;
pub mod io_priority;
pub mod oom_score;
pub mod process_affinity;
