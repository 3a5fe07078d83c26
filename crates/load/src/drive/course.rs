//! When a run begins, and what ends it before its time.

use std::os::fd::BorrowedFd;

/// What whoever starts a load decides about a run beside the load's own options.
#[derive(Debug, Clone, Copy, Default)]
pub struct Course<'a> {
    /// The run ends as soon as this becomes readable.
    pub stop: Option<BorrowedFd<'a>>,
    /// The first request is sent at this moment, CLOCK_MONOTONIC ns, once the connections are made; at once where it is past, or none is
    /// given. Of the loads that the engine drives: it lets several processes begin together.
    pub start_at_ns: Option<u64>,
    /// Whether the moment of the first request is written to standard output, as [`BEGAN`] and CLOCK_MONOTONIC ns on a line.
    pub announces: bool,
}

/// What stands before the moment of the first request, where it is announced.
pub const BEGAN: &str = "began ";

impl<'a> Course<'a> {
    /// A run that ends at the latest when `stop` becomes readable.
    pub fn until(stop: BorrowedFd<'a>) -> Self {
        Self { stop: Some(stop), ..Self::default() }
    }
}
