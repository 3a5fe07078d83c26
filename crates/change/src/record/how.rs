//! What came of taking an act back.

use std::fmt;

use serde::{Deserialize, Serialize};

use super::{OutOfReach, Value};

/// What was read when an act was taken back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Reading {
    /// The value.
    Value(Value),
    /// The value in words, as ledgers of format 1 have it.
    Words(String),
}

impl From<Value> for Reading {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

impl fmt::Display for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(value) => value.fmt(f),
            Self::Words(words) => f.write_str(words),
        }
    }
}

/// What came of taking an act back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "result", rename_all = "kebab-case")]
pub enum How {
    /// The old value is there again (the process group has ended, the cgroup is removed).
    Restored,
    /// The old value was there already.
    Already,
    /// The thread, process, file or cgroup is gone, and the change with it.
    Gone,
    /// The machine was rebooted in the meantime: a run-time change does not outlive that.
    Expired,
    /// The old value was written, and the kernel made something else of it: huge pages in use, memory that cannot be moved. To be tried
    /// again.
    Incomplete {
        /// What it reads now.
        now: Reading,
    },
    /// The same, and whoever forced it wants no further try.
    GivenUp {
        /// What it reads now.
        now: Reading,
    },
    /// Somebody else changed it after us: left alone, unless forced.
    Conflict {
        /// What it reads now.
        now: Reading,
    },
    /// A later session has set it since: that one is to be undone first.
    Held {
        /// Id of the session.
        by: String,
    },
    /// A later act of the same session has set it since, and could not be undone.
    HeldWithin {
        /// Number of the act.
        seq: u64,
    },
    /// Processes are in a group of the number of one that pinwise launched, and nothing shows that they belong to it: its leader is
    /// gone, and they do not carry the launch's marker. They were left alone.
    Unproven {
        /// Their numbers.
        pids: Vec<u32>,
    },
    /// What it is about cannot be reached from here: it belongs to another namespace or root directory.
    OutOfReach {
        /// Why.
        what: OutOfReach,
    },
    /// The same, and whoever forced it wants no further try.
    Forgotten,
    /// The kernel refused, or it could not be read.
    Refused {
        /// Why.
        why: String,
    },
}

impl How {
    /// Whether nothing is left to do for the act.
    pub fn is_final(&self) -> bool {
        !matches!(
            self,
            How::Incomplete { .. }
                | How::Conflict { .. }
                | How::Held { .. }
                | How::HeldWithin { .. }
                | How::Unproven { .. }
                | How::OutOfReach { .. }
                | How::Refused { .. }
        )
    }
}

impl fmt::Display for How {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            How::Restored => f.write_str("restored"),
            How::Already => f.write_str("was restored already"),
            How::Gone => f.write_str("gone, and the change with it"),
            How::Expired => f.write_str("expired: the machine was rebooted since"),
            How::Incomplete { now } => write!(f, "written back, but reads {now}"),
            How::GivenUp { now } => write!(f, "written back, but reads {now}; left as it is"),
            How::Conflict { now } => {
                write!(f, "left alone: now {now}, which is not what pinwise left; --force restores it")
            }
            How::Held { by } => write!(f, "left alone: session {by} has set it since; undo that first"),
            How::HeldWithin { seq } => {
                write!(f, "left alone: act {seq} has set it since, and could not be undone")
            }
            How::Unproven { pids } => {
                let pids: Vec<String> = pids.iter().map(u32::to_string).collect();
                write!(
                    f,
                    "left running: processes {}, in a process group of that number whose leader is gone; they do not carry \
                     pinwise's marker and may belong to somebody else",
                    pids.join(", ")
                )
            }
            How::OutOfReach { what } => write!(f, "left as it is: {what}"),
            How::Forgotten => {
                f.write_str("given up: it could not be reached from here, and may still be changed")
            }
            How::Refused { why } => write!(f, "could not be restored: {why}"),
        }
    }
}
