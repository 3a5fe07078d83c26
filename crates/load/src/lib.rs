//! DRIVES: servers under load, and the figures that come out.
//!
//! A study starts a [`Server`] from its [`ServerSpec`] where a placement says, then a [`Workload`] from a [`LoadSpec`]
//! against it, polls the [`Running`] load for its [`Outcome`], and checks the [`headroom`](headroom::headroom): whether the
//! load generator was the limit. The built-in pair is [`string`]; [`storm`] disturbs a CPU on purpose, [`Spin`] keeps
//! one busy, [`thief`] takes a set share of its time.
//!
//! `workloads` has a folder for each protocol; `drive` is the engine that drives any of them, `generator` the process that it runs in.

#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "what is said goes through one place of the binary"
)]

mod clock;
pub mod drive;
mod errno;
mod flags;
pub mod generator;
pub mod guard;
mod interference;
mod link;
pub mod outcome;
mod process;
pub mod server;
pub mod server_metrics;
mod signals;
mod sockets;
pub mod template;
pub mod workloads;

pub use clock::monotonic_ns;
pub use guard::{Breach, Certainty, Guard, Guarding, Reference};
pub use interference::busy_cpu::Spin;
pub use interference::interrupt_cost::{interrupt_cost_ns, interrupts_taking};
pub use interference::storm::Storm;
pub use interference::thief::Thief;
pub use interference::{storm, thief};
pub use outcome::headroom::headroom;
pub use outcome::operations::Operation;
pub use outcome::traffic::Traffic;
pub use outcome::{Counted, Headroom, Interval, Outcome, headroom, latency, operations, traffic};
pub use process::running::Running;
pub use process::{children, log_tail, program};
pub use server::{Server, ServerSpec};
pub use server_metrics::MetricSpec;
pub use template::Command;
pub use workloads::command::extract::Extract;
pub use workloads::{
    AmqpLoad, CommandLoad, Driven, HttpLoad, LatencyLoad, LdapLoad, LoadSpec, NatsLoad, OwnTrafficLoad,
    PacketsLoad, QueueFillLoad, SpinLoad, StringLoad, Workload, string,
};
