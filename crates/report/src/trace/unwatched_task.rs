//! What stands for tasks that are of no concern.

/// Numbers above those that tasks can have (PID_MAX_LIMIT of include/linux/threads.h): who has a CPU while that is of no concern.
pub(super) const NOT_WATCHED: u32 = 1 << 22;

/// What is drawn where tasks that are of no concern had a CPU, or nobody knows who had it.
pub(super) const NOT_WATCHED_NAME: &str = "not watched";
