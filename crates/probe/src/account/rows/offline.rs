//! The part of a window in which a CPU was not online.

use serde::{Deserialize, Serialize};

/// How long a CPU was offline, and how often that changed. Source: /sys/devices/system/cpu/online, looked at some ten times a second, and the
/// kernel's last event before the CPU left. So the beginning is known well, and the end to within the time between two looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Offline {
    /// How long, ns.
    pub total_ns: u64,
    /// How often it went offline.
    pub left: u64,
    /// How often it came online.
    pub came: u64,
}

impl Offline {
    /// What there is more than at an earlier reading; `None` where it was online all the time between.
    pub(in crate::account) fn since(self, before: Option<Self>) -> Option<Self> {
        let before = before.unwrap_or_default();
        let since = Self {
            total_ns: self.total_ns.saturating_sub(before.total_ns),
            left: self.left.saturating_sub(before.left),
            came: self.came.saturating_sub(before.came),
        };
        (since != Self::default()).then_some(since)
    }

    /// That of two parts of a window together.
    pub(in crate::account) fn together(one: Option<Self>, other: Option<Self>) -> Option<Self> {
        let (Some(a), Some(b)) = (one, other) else { return one.or(other) };
        Some(Self {
            total_ns: a.total_ns.saturating_add(b.total_ns),
            left: a.left.saturating_add(b.left),
            came: a.came.saturating_add(b.came),
        })
    }
}
