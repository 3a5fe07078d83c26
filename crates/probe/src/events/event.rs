//! One event.

use std::borrow::Cow;

use crate::account::Source;

/// What happened on a CPU at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// When, ns of CLOCK_MONOTONIC; the beginning of what lasts.
    pub at_ns: u64,
    /// Where.
    pub cpu: u32,
    /// What.
    pub what: What,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum What {
    /// A task left the CPU, and another got it.
    Switch {
        /// Number of the task that left.
        prev: u32,
        /// How it left.
        left: Left,
        /// The task that got the CPU.
        next: Task,
        /// Whether the end of that slice is reported as well: if not, it is of no concern to the target.
        reported: bool,
    },
    /// The kernel did not report this switch; it was found out later. Nobody knows how the task before left, nor whether there was
    /// another in between.
    Unreported {
        /// Number of the task that was seen to get the CPU last.
        prev: u32,
        /// The task that had it when it was found out.
        next: Task,
    },
    /// The task has had the CPU since; who had it before is not reported.
    Came(Task),
    /// Who a task is.
    Met(Task),
    /// A task was born.
    Born {
        /// Number of its parent.
        parent: u32,
        /// The child.
        task: Task,
    },
    /// A thread was woken.
    Woken {
        /// Its number.
        tid: u32,
        /// Its priority, as the kernel counts: 120 is nice 0, below 100 real-time.
        priority: u8,
        /// Number of the task that ran on the CPU from which it was woken, in an interrupt as well; `None` where that is not
        /// known.
        waker: Option<u32>,
        /// The CPU that it ran on last, or was put on.
        to_cpu: u32,
    },
    /// An interrupt, softirq or NMI.
    Interrupt {
        /// Which.
        source: Source,
        /// The line, if it is a device's.
        line: Option<u32>,
        /// Whether the device had asked for it, by its handler's word; true for what is no device.
        handled: bool,
        /// How long it took, with what interrupted it.
        ns: u64,
    },
    /// The CPU was in a C-state.
    Idle {
        /// Which, by the kernel's index.
        state: u32,
        /// How long.
        ns: u64,
    },
    /// Who had this CPU is not known, but for the one that had it at the end.
    Lost {
        /// The thread that turned out to have it, where the kernel did not report its coming; `None` where switches found no room in
        /// the ring.
        unreported: Option<u32>,
        /// How long.
        ns: u64,
    },
    /// The CPU was offline. Its end is no later than it was seen.
    Offline {
        /// How long.
        ns: u64,
    },
    /// The CPU is to run at this frequency from now on.
    Frequency {
        /// In kHz.
        khz: u32,
    },
    /// A thread of the target met a page that is not mapped.
    PageFault {
        /// Its number.
        tid: u32,
    },
}

impl What {
    /// Whether it has a beginning and an end.
    pub fn lasts(&self) -> bool {
        matches!(self, Self::Interrupt { .. } | Self::Idle { .. } | Self::Lost { .. } | Self::Offline { .. })
    }

    /// How long it lasted, ns; 0 for what has no length.
    pub fn ns(&self) -> u64 {
        match self {
            Self::Interrupt { ns, .. }
            | Self::Idle { ns, .. }
            | Self::Lost { ns, .. }
            | Self::Offline { ns } => *ns,
            _ => 0,
        }
    }
}

/// How a task left its CPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Left {
    /// It could have run on.
    Preempted,
    /// It could have run on, but the quota of its cgroup is used up.
    Throttled,
    /// It waits for something, or has ended: the kernel's bits of the state (include/linux/sched.h).
    Waits(u32),
}

/// Who a task is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Task {
    /// Its number; 0 is an idle CPU.
    pub tid: u32,
    /// Number of its process.
    pub pid: u32,
    /// Its name.
    pub comm: Comm,
    /// Its priority, as the kernel counts: 120 is nice 0, below 100 real-time.
    pub priority: u8,
    /// Whether it is a thread of the kernel.
    pub of_kernel: bool,
    /// Whether it belongs to the target.
    pub of_target: bool,
}

/// A name of at most 15 bytes, as the kernel keeps it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Comm(pub [u8; 16]);

impl Comm {
    /// The name; bytes that are no text are replaced.
    pub fn as_str(&self) -> Cow<'_, str> {
        let end = self.0.iter().position(|byte| *byte == 0).unwrap_or(self.0.len());
        String::from_utf8_lossy(&self.0[..end])
    }
}

impl From<&str> for Comm {
    fn from(name: &str) -> Self {
        let mut comm = [0; 16];
        comm.iter_mut().zip(name.bytes().take(15)).for_each(|(to, from)| *to = from);
        Self(comm)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_end_at_their_zero_and_at_fifteen_bytes() {
        assert_eq!(Comm::from("nginx").as_str(), "nginx");
        assert_eq!(Comm::from("a-name-of-seventeen").as_str(), "a-name-of-seven");
        assert_eq!(Comm([b'x'; 16]).as_str().len(), 16);
    }
}
