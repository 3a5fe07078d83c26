//! Waits at futexes, as they were summed up.

use machine::Missing;
use serde::{Deserialize, Serialize};

use crate::account::Part;

/// Futexes that are kept: those with most waiting.
pub(super) const MOST_FUTEXES: usize = 16;
/// Pairs of stacks that are kept of each, likewise.
pub(super) const MOST_STACKS: usize = 3;
/// Frames that are kept of a stack: the innermost.
pub(super) const MOST_FRAMES: usize = 8;

/// What a futex is used for, as far as the calls of those who wait there say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FutexKind {
    /// A lock, a condition, a semaphore, a thread that parks: the call does not say.
    #[default]
    Unknown,
    /// A mutex, by the value that waiters expect: 2 (glibc, Rust), or one with the highest bit (musl, robust mutexes).
    Mutex,
    /// A lock with priority inheritance (FUTEX_LOCK_PI).
    PriorityInheritance,
}

/// With which stacks threads waited and were let go on. Frames from the outermost to the innermost function, the innermost 8 at most; empty
/// where they are not known. Code without frame pointers has a frame or two.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct WaitStacks {
    /// Of the thread that waited.
    pub waiter: Vec<String>,
    /// Of the one that let it go on.
    pub releaser: Vec<String>,
    /// Waits of which stacks were taken, up to the wake-up.
    pub waits: Part,
}

/// What threads of one process waited for at one address.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Futex {
    /// The process.
    pub pid: u32,
    /// The address of the futex in it.
    pub address: u64,
    /// What lies there: `[heap]`, `redis-server`, `libc.so.6`, `[anonymous]`; `None` where the process has ended.
    pub place: Option<String>,
    /// What it is used for.
    pub kind: FutexKind,
    /// Waits that another thread of the server ended by a wake-up there, up to that.
    pub released: Part,
    /// Of those, how many were ended by a thread that had waited there itself, as threads do that take turns; those that produce work for others
    /// do not.
    pub by_waiters: u64,
    /// How long the threads that released them had it, as far as others waited then: since the wait began, or since the last release there, ns.
    pub held_ns: u64,
    /// Of that, how long those threads were asleep or blocked, at least, ns: times without a CPU that began before it are not counted.
    pub holder_asleep_ns: u64,
    /// Of that, how long they waited for a CPU; at least, likewise.
    pub holder_waiting_ns: u64,
    /// Waits that a timeout, a signal, the end of a thread, or something unseen ended.
    pub broken_off: Part,
    /// Waits that went on when the window ended.
    pub going_on: Part,
    /// Of the released waits, those of which stacks were taken: at most one of a thread in 1 ms.
    pub sampled: Part,
    /// Their stacks, those with most time first.
    pub stacks: Vec<WaitStacks>,
}

impl Futex {
    /// Time of all waits there, ns.
    pub fn waited_ns(&self) -> u64 {
        [&self.released, &self.broken_off, &self.going_on]
            .iter()
            .fold(0, |sum, part| sum.saturating_add(part.total_ns))
    }

    /// Share of the released waits that were ended by threads that wait there themselves, 0 to 1; `None` where none was released.
    pub fn share_by_waiters(&self) -> Option<f64> {
        (self.released.count > 0).then(|| self.by_waiters as f64 / self.released.count as f64)
    }

    /// How long it was held each time, as far as others waited then, us; `None` where it was never released.
    pub fn mean_held_us(&self) -> Option<f64> {
        (self.released.count > 0).then(|| self.held_ns as f64 / self.released.count as f64 / 1e3)
    }

    /// A part of the time that it was held, 0 to 1: [`holder_asleep_ns`](Self::holder_asleep_ns) or [`holder_waiting_ns`](Self::holder_waiting_ns).
    pub fn share_of_held(&self, ns: u64) -> f64 {
        if self.held_ns > 0 { (ns as f64 / self.held_ns as f64).min(1.0) } else { 0.0 }
    }
}

/// Waits of a server's threads at futexes in a window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct FutexWaits {
    /// The futexes with most waiting, 16 at most.
    pub futexes: Vec<Futex>,
    /// Waiting at others, ns.
    pub others_ns: u64,
    /// What is not known, and why.
    pub missing: Vec<Missing>,
}
