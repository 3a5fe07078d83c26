//! The spinning task: a server that does nothing but use its CPU, and tells what of its time was taken and how often the timer
//! interrupted it. What a polling receiver or a real-time loop would meet, without one.

pub mod options;
pub mod server;
mod taken;
mod task;

pub use taken::Taken;
pub(crate) use taken::unit_of;
