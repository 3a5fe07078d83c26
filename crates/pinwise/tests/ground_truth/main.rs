//! Studies on this kernel where the truth is known because the tests build it: receive work steered onto one CPU, a
//! storm of timer interrupts on one CPU, nothing at all, and pinwise killed in the middle.
//!
//! They need root, iproute2 (`ip netns`), two CPUs, and some minutes of an otherwise idle machine, so they are ignored
//! by default: `make test` runs them, one at a time and nothing beside them (docs/testing.md). They send traffic only
//! between network namespaces that they make and delete, and this machine.

#![allow(clippy::unwrap_used, missing_docs, reason = "a test that cannot go on must fail")]

mod applied;
mod beside_oslat;
mod broker;
mod diagnosed;
mod distances;
mod dosed;
mod explained;
mod hosted;
mod idle;
mod killed;
#[path = "../killing/mod.rs"]
mod killing;
mod memory;
mod misled;
mod nats;
mod needs;
mod noise;
mod nothing;
mod openldap;
mod own_traffic;
mod packets;
mod pinwise;
mod placed_guests;
mod processes;
mod quiet;
mod real_servers;
mod running;
mod searched;
mod served_guest;
mod slurm;
mod steered;
mod stormed;
mod storms;
mod testbed;
mod trials;
mod verified;
mod watched;
