//! The built-in ping-pong: a server that sends back what it gets, over TCP, a Unix socket and UDP at once, and the load that sends messages
//! to it at a fixed rate and takes the time of each.

pub(crate) mod dialogue;
pub mod options;
pub mod server;
