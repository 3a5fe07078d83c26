//! Guests in the shape of machines that this one is not: many nodes, offline CPUs, queues with interrupts of their own,
//! isolation, swap - and what goes wrong with guests themselves.
//!
//! Those that boot are ignored by default; `make test` runs them, two at a time. What they show is real in function and not
//! in timing, so none asserts on how long anything took.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on must fail")]

mod across_boots;
mod boot_parameters;
mod diagnosed;
mod distances;
mod fixtures;
mod going_offline;
mod guest;
mod interrupts;
mod isolation;
mod killed;
#[path = "../killing/mod.rs"]
mod killing;
mod memory_nodes;
mod network_card;
mod offline_cpus;
mod packets;
mod rdma;
mod rehearse_ends;
mod rehearse_errors;
mod running_kernel;
mod same_shape;
mod shapes;
mod swap;
mod tick;
mod watched;
