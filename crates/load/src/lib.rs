//! DRIVES: servers under load, and the figures that come out.
//!
//! A study starts a [`Server`] from its [`ServerSpec`] where a placement says, then a [`Workload`] from a [`LoadSpec`]
//! against it, polls the [`Running`] load for its [`Outcome`], and asks [`headroom`](headroom::headroom) whether the
//! load generator was the limit. The built-in pair is [`string`]; [`storm`] disturbs a CPU on purpose, [`spin`] keeps
//! one busy, [`thief`] takes a set share of its time.

#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "what is said goes through one place of the binary"
)]

mod allowed_cpus;
pub mod amqp;
mod attached;
pub mod children;
mod clock;
pub mod drive;
pub mod echo;
mod exe;
pub mod extract;
mod flags;
pub mod headroom;
pub mod http;
pub mod interrupt_cost;
pub mod latency;
pub mod ldap;
mod locale;
pub mod log_tail;
mod message;
pub mod nats;
mod netns;
pub mod operations;
mod out_of_memory;
pub mod outcome;
mod output;
pub mod packets;
mod port;
pub mod program;
pub mod queue;
pub mod running;
mod seconds;
pub mod server;
mod signals;
mod sockets;
pub mod spin;
pub mod spinner;
pub mod storm;
pub mod string;
pub mod template;
pub mod thief;
mod tool_errors;
mod trial_folder;
pub mod workloads;

pub use clock::monotonic_ns;
pub(crate) use exe::exe;
pub use extract::Extract;
pub use headroom::headroom;
pub use interrupt_cost::interrupt_cost_ns;
pub use operations::Operation;
pub use outcome::{Counted, Headroom, Interval, Outcome};
pub use running::Running;
pub use server::{Server, ServerSpec};
pub use spin::Spin;
pub use storm::Storm;
pub use template::Command;
pub use thief::Thief;
pub use workloads::{
    AmqpLoad, CommandLoad, HttpLoad, LatencyLoad, LdapLoad, LoadSpec, NatsLoad, PacketsLoad, QueueFillLoad,
    SpinLoad, StringLoad, Workload,
};
