//! How quiet CPUs are: a pinned loop reads the clock on each, and each gap between two readings is joined to what the
//! kernel counted inside it.
//!
//! [`measure`] runs the loops and gives [`Noise`]. The kernel's programs of [`crate::account`] sum up what happens on each CPU in
//! memory that the loop reads on both sides of a gap, so that no event is recorded or sent. Where they cannot be loaded, gaps are
//! measured all the same, beside the counts of /proc/interrupts and /proc/softirqs over the window.

mod cpu_sums;
mod gap_loop;
mod join;
mod record;
mod results;
mod rounds;
mod session;
mod summary;
mod unpinned;

pub use results::{
    Alone, BelowThreshold, Cause, CauseNoise, CpuNoise, GapPart, JoinedTo, Left, LineNoise, LongGap,
    LoopCost, Noise, Policy, Series, Step, TaskNoise,
};
pub use session::{Plan, Round, Surroundings, measure};
pub use unpinned::{OwnGaps, Stretch};
