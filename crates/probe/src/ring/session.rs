//! Who recorded what, and since when: the first line of each segment.

use machine::{Class, Fault, Root};
use serde::{Deserialize, Serialize};

use crate::clock;

/// Version of what the segments hold; raised when an older pinwise could no longer read it.
const FORMAT: u32 = 1;

/// A recorder from its start to its end.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// Version of what follows.
    pub format: u32,
    /// Version of pinwise that wrote it.
    pub pinwise: String,
    /// Which boot of which machine (/proc/sys/kernel/random/boot_id): CLOCK_MONOTONIC begins anew with it.
    pub boot_id: String,
    /// When it began, ns of CLOCK_MONOTONIC.
    pub began_ns: u64,
    /// Who was watched, in words.
    pub title: String,
    /// The same for programs.
    pub target: serde_json::Value,
    /// Whether nobody in particular was watched: then there are tasks, and no threads.
    pub everything: bool,
    /// By which means it was counted.
    pub how: String,
    /// Time between two readings as it was asked for, ns.
    pub every_ns: u64,
}

impl Session {
    /// One that begins now.
    ///
    /// # Errors
    /// When the kernel does not say which boot this is.
    pub fn now(title: String, target: serde_json::Value, how: &str, every_ns: u64) -> Result<Self, Fault> {
        let file = "/proc/sys/kernel/random/boot_id";
        let boot_id = Root::live().read(file);
        let fault = |e| Fault::new(Class::MachineLacks, file, e, "mount /proc");
        Ok(Self {
            format: FORMAT,
            pinwise: env!("CARGO_PKG_VERSION").into(),
            boot_id: boot_id.map_err(fault)?.trim().into(),
            began_ns: clock::monotonic_ns(),
            title,
            target,
            everything: false,
            how: how.into(),
            every_ns,
        })
    }

    /// The same where nobody in particular is watched.
    pub fn of_everything(self, everything: bool) -> Self {
        Self { everything, ..self }
    }

    /// Whether this version of pinwise can read what it wrote.
    pub(super) fn can_be_read(&self) -> bool {
        self.format <= FORMAT
    }

    /// Whether both are of the same recorder.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        (&self.boot_id, self.began_ns) == (&other.boot_id, other.began_ns)
    }
}
