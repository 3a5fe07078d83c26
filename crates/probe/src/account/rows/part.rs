//! How many, and how long all together.

use serde::{Deserialize, Serialize};

/// A part of something larger, of which only sums are kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Part {
    /// How many.
    pub count: u64,
    /// Their time, ns.
    pub total_ns: u64,
}

impl Part {
    /// What this has more than an earlier reading.
    pub(in crate::account) fn since(&self, before: &Self) -> Self {
        Self {
            count: self.count.saturating_sub(before.count),
            total_ns: self.total_ns.saturating_sub(before.total_ns),
        }
    }

    /// Both together.
    pub(in crate::account) fn plus(&self, other: &Self) -> Self {
        Self {
            count: self.count.saturating_add(other.count),
            total_ns: self.total_ns.saturating_add(other.total_ns),
        }
    }
}
