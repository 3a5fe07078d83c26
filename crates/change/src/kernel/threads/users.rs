//! Whose a thread is, and whose threads may change it (credentials(7)).

/// The users of a thread, by number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Users {
    /// The one that started it.
    pub real: u32,
    /// The one whose rights it has.
    pub effective: u32,
}

impl Users {
    /// Whether a thread of these users may set CPUs, policy and clamps of a thread of others without CAP_SYS_NICE: `check_same_owner` of
    /// kernel/sched/syscalls.c.
    pub fn may_schedule(self, other: Self) -> bool {
        self.effective == other.effective || self.effective == other.real
    }

    /// Likewise the rank of its disk requests: `set_task_ioprio` of block/ioprio.c.
    pub fn may_rank_requests(self, other: Self) -> bool {
        other.real == self.effective || other.real == self.real
    }
}
