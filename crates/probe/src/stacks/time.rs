//! What was summed up.

use machine::Missing;

use super::frames::Frames;
use crate::bpf::thread_state;
use crate::changed_cpu::ChangedCpu;

/// What a thread does; the words are those of the account.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Doing {
    /// It has a CPU, interrupts on it included.
    OnCpu,
    /// It could run on, and somebody else has the CPU.
    Preempted,
    /// It was woken, and has no CPU yet.
    InRunQueue,
    /// The quota of its cgroup is used up.
    Throttled,
    /// It waits, of its own will.
    Asleep,
    /// It waits in a way that no signal ends: disk, swap, a lock of the kernel.
    Blocked,
    /// The kernel did not report a switch in between, or the thread's CPU was offline.
    NotTold,
}

impl Doing {
    pub(super) fn of(state: u32) -> Self {
        match state {
            thread_state::RUNNING => Self::OnCpu,
            thread_state::PREEMPTED => Self::Preempted,
            thread_state::WAITING => Self::InRunQueue,
            thread_state::THROTTLED => Self::Throttled,
            thread_state::ASLEEP => Self::Asleep,
            thread_state::BLOCKED => Self::Blocked,
            _ => Self::NotTold,
        }
    }

    /// In words, as `pinwise watch` shows it.
    pub fn words(self) -> &'static str {
        match self {
            Self::OnCpu => "on a CPU",
            Self::Preempted => "preempted",
            Self::InRunQueue => "in the run queue",
            Self::Throttled => "throttled",
            Self::Asleep => "asleep",
            Self::Blocked => "blocked",
            Self::NotTold => "unknown",
        }
    }
}

/// What threads of one name in one process did with the same stacks, which are taken where they go to sleep; of time on a CPU, where it
/// was sampled ([`TimeByStack::split_on_cpu`]).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StackTime {
    /// The process, by the number that the kernel has for it.
    pub pid: u32,
    /// Name of the threads (comm of /proc/PID/task/TID).
    pub thread: String,
    /// What they did.
    pub doing: Doing,
    /// With which frames in user space they had gone to sleep; also of the time in a run queue after that.
    pub user: Frames,
    /// With which frames in the kernel, from the one that user space called to the one that gave the CPU away.
    pub kernel: Frames,
    /// How often; of time on a CPU that has a stack, samples of it.
    pub count: u64,
    /// How long in all, ns.
    pub ns: u64,
}

/// What the threads of a target did in a window.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeByStack {
    /// When counting began, CLOCK_MONOTONIC ns.
    pub began_ns: u64,
    /// When it ended, CLOCK_MONOTONIC ns.
    pub ended_ns: u64,
    /// Of each thread that lived all the time this adds up to the time between.
    pub times: Vec<StackTime>,
    /// CPUs that went offline or came online meanwhile, by number.
    pub changed_cpus: Vec<ChangedCpu>,
    /// What is not in it, and why.
    pub missing: Vec<Missing>,
}
