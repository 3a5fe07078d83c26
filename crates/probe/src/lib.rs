//! TRACES: what happened on each CPU, and to the server's threads, in a window of time.
//!
//! Counters come from /proc and /sys through a [`machine::Root`]; no setting of the machine is altered here. A [`Sampler`]
//! takes samples into a [`Recording`], out of which windows are cut: [`Recording::window`] gives an [`Observation`].
//! [`ticks`] also has the kernel count events, in an instance of tracefs of its own.

#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "what is said goes through one place of the binary"
)]

pub mod account;
mod bpf;
mod changed_cpu;
mod clock;
pub mod distance_measurement;
pub mod events;
pub mod futexes;
mod handles;
mod kept_table;
pub mod meter;
pub mod noise;
pub mod observation;
mod online;
pub mod party;
pub mod perf_event;
pub mod pmu;
pub mod probes;
pub mod recording;
pub mod requests;
pub mod ring;
pub mod rows;
pub mod sampler;
pub mod situation;
pub mod stacks;
pub mod thread_reading;
pub mod ticks;
mod watch;

pub use meter::Meter;
pub use observation::{
    Counter, Gauge, Observation, QuotaSeen, Sample, Spread, SystemCounter, ThreadSeen, TreeSeen,
};
pub use party::Party;
pub use recording::Recording;
pub use sampler::Sampler;
pub use situation::{Busy, RequestLookBack, ServerCounters, Situation, Surroundings};
pub use ticks::{TickWindow, TicksSeen};
pub use watch::identify;
