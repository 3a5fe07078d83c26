//! The built-in ping-pong: a server that sends back what it gets, over TCP, a Unix socket, UDP and, where asked, frames at once, and the
//! load that sends messages to it at a fixed rate and takes the time of each.

mod dialogue;
mod driver;
mod frames;
pub mod options;
mod over_http;
mod per_second;
pub mod server;

pub use driver::ABOUT;
pub use options::LatencyLoad;
