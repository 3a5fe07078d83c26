//! Raw packets a second: a sender of numbered UDP packets, as fast as it can or at a rate, towards a sink that counts what arrives.
//!
//! What was sent and what arrived are two figures, from two processes: each packet is known by its run and its number, so that a lost one is
//! counted as lost, and one that comes twice or with other bytes is an error.

pub(crate) mod blast;
pub(crate) mod control;
pub mod options;
pub(crate) mod packet;
pub(crate) mod pktgen;
mod receive;
pub(crate) mod send;
pub mod sink;
mod tally;
