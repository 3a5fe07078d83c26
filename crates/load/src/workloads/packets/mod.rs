//! Raw packets a second: a sender of numbered UDP packets, as fast as it can or at a rate, towards a sink that counts what arrives.
//!
//! What was sent and what arrived are two figures, from two processes: each packet is known by its run and its number, so that a lost one is
//! counted as lost, and one that comes twice or with other bytes is an error.

mod control;
mod driver;
pub mod options;
mod packet;
mod pktgen;
mod recvmmsg;
mod send;
mod sender;
pub mod sink;
mod tally;

pub use driver::ABOUT;
pub use options::PacketsLoad;
