//! The spinning task: a server that does nothing but use its CPU, and reports what of its time was taken and how often the timer
//! interrupted it. What a polling receiver or a real-time loop would meet, without one.

mod driver;
mod noise;
pub mod options;
pub mod server;
mod task;

pub use driver::ABOUT;
pub use noise::Taken;
pub use options::SpinLoad;
