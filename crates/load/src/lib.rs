//! DRIVES: servers under load, and the figures that come out.

pub mod outcome;

pub use outcome::{Headroom, Interval, Outcome};
