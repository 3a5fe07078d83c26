//! What the threads of a target did, by the stacks with which they went to sleep: where a server waits, in its own words.
//!
//! [`Profiling`] samples what they do on a CPU instead; [`Profiling::end`] gives a [`Profile`] by function, and [`Profiling::stacks`] the
//! stacks by which [`TimeByStack::split_on_cpu`] splits time on a CPU.
//!
//! [`Summing`] has programs in the kernel sum that up; [`Summing::end`] gives a [`TimeByStack`], in which each thread that was there all
//! the time has the whole window. Stacks of user space are as good as the kernel can unwind them: it follows frame pointers, so that code built without
//! has a frame or two. For times without stacks see [`crate::account`], which costs less.

mod frames;
mod named_stacks;
mod named_sums;
mod offline;
mod profile;
mod profiling;
mod sampled;
mod summing;
mod symbolization;
mod target;
mod time;

pub use frames::Frames;
pub(crate) use named_stacks::NamedStacks;
pub use profile::{FUNCTIONS_KEPT, Profile, Sampled};
pub use profiling::Profiling;
pub use sampled::{SampledStack, SampledStacks};
pub use summing::Summing;
pub(crate) use symbolization::{Naming, maps, place};
pub(crate) use target::want;
pub use time::{Doing, StackTime, TimeByStack};
