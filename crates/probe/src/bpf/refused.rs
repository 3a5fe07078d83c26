//! What is missing where the kernel reports nothing.

use std::fmt;

use machine::{FactId, Missing};

/// No events of the kernel, and why.
pub(crate) fn no_events(why: impl fmt::Display) -> Missing {
    Missing::new("kernel events", why).identified(FactId::KernelEvents)
}

/// None of one process.
pub(crate) fn no_events_of_process(why: impl fmt::Display) -> Missing {
    Missing::new("kernel events of a process", why).identified(FactId::KernelEvents)
}
