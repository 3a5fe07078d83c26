//! How quiet CPUs are: a pinned loop reads the clock on each, and each gap between two readings is joined to what the
//! kernel counted inside it.
//!
//! [`measure`] runs the loops and gives [`Noise`]. The kernel's programs of [`crate::account`] sum up what happens on each CPU in
//! memory that the loop reads on both sides of a gap, so that no event is recorded or sent. Where they cannot be loaded, gaps are
//! measured all the same, beside the counts of /proc/interrupts and /proc/softirqs over the window.

mod gap_loop;
mod join;
mod record;
mod roaming;
mod rounds;
mod seen;
mod session;
mod sheet;
mod told;

pub use roaming::{OwnGaps, Stretch};
pub use session::{Plan, Round, Surroundings, measure};
pub use sheet::{
    Alone, BelowThreshold, Cause, CauseNoise, CpuNoise, GapPart, JoinedTo, LineNoise, LongGap, LoopCost,
    Noise, Policy, Series, Step, TaskNoise,
};
