//! TRACES: what happened on each CPU, and to the server's threads, in a window of time.
//!
//! Counters come from /proc and /sys through a [`machine::Root`]; nothing here alters the machine.

pub mod observation;

pub use observation::{Counter, Observation, Sample, ThreadSeen};
