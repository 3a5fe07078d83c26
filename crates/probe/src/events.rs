//! What happened on CPUs and to threads, event by event, for a trace.
//!
//! [`Tracing`] has programs in the kernel report switches, wake-ups, interrupts and idling; a thread of its own takes them out
//! of the ring, as far as the memory given for it reaches. [`Tracing::end`] gives a [`Trace`]. For sums see
//! [`crate::account`], which costs less.

mod decode;
mod event;
mod offline;
mod ring_consumer;
mod trace;
mod tracing;

pub use event::{Comm, Event, Left, Task, What};
pub use trace::Trace;
pub use tracing::{Plan, Tracing};
