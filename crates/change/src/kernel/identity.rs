//! Identity: which boot this is, where this process stands, and which object a name or number means.

#[cfg(any(test, feature = "emulated"))]
mod emulated;
mod live;
mod subjects;

use std::io;

use crate::namespace::process_view::ProcessView;
use crate::subject::{Reference, Subject};

/// Distinguishes objects that may have the same name or number.
pub trait Identity {
    /// Id of this boot (/proc/sys/kernel/random/boot_id, random(4)).
    ///
    /// # Errors
    /// /proc is not mounted.
    fn boot_id(&self) -> io::Result<String>;

    /// Clock ticks since boot, on the clock of process start times (CLOCK_BOOTTIME).
    fn now_ticks(&self) -> io::Result<u64>;

    /// Namespaces and root directory of this process.
    ///
    /// # Errors
    /// /proc is not mounted, or shows another PID namespace.
    fn process_view(&self) -> io::Result<ProcessView>;

    /// Identity of an object as it is here and now, as far as the kernel reports one.
    fn subject_of(&self, object: &Reference) -> Subject;
}
