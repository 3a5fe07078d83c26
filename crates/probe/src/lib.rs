//! TRACES: what happened on each CPU, and to the server's threads, in a window of time.
//!
//! Counters come from /proc and /sys through a [`machine::Root`]; nothing here alters the machine. A [`Sampler`] takes
//! samples into a [`Recording`], out of which windows are cut: [`Recording::window`] gives an [`Observation`].

mod clock;
mod handles;
mod kept_table;
pub mod meter;
pub mod observation;
mod online;
pub mod probes;
pub mod recording;
pub mod rows;
pub mod sampler;
pub mod thread_reading;
mod watch;

pub use meter::Meter;
pub use observation::{Counter, Gauge, Observation, Sample, Spread, SystemCounter, ThreadSeen};
pub use recording::Recording;
pub use sampler::Sampler;
