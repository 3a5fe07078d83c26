//! The boot of the kernel that a trial ran in.

use machine::Root;
use machine::kernel::boot;
use serde::{Deserialize, Serialize};

/// The boot that a trial ran in.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Booted {
    /// The kernel's own name for it (/proc/sys/kernel/random/boot_id, random(4)).
    pub id: String,
    /// The command line (/proc/cmdline).
    pub cmdline: String,
    /// Release of the kernel: one that is installed while a study goes on is the next boot's.
    #[serde(default)]
    pub kernel: String,
}

impl Booted {
    /// The one that runs; `None` where the kernel does not report it.
    pub fn read(root: &Root) -> Option<Self> {
        let line = |path| root.read(path).ok().map(|text| text.trim().to_string());
        let (id, cmdline) = (line("/proc/sys/kernel/random/boot_id")?, line("/proc/cmdline")?);
        Some(Self { id, cmdline, kernel: line("/proc/sys/kernel/osrelease").unwrap_or_default() })
    }

    /// Those of `words` that are missing from its command line.
    pub fn missing_words<'a>(&self, words: &'a [String]) -> Vec<&'a str> {
        let there = boot::words(&self.cmdline);
        words.iter().filter(|word| !there.contains(word)).map(String::as_str).collect()
    }
}
