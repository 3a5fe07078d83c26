//! The engine of the built-in load generators: it drives any [`Dialogue`] in a closed or an open loop, takes the time of each request
//! from when it was meant to go out, checks every answer, and counts every failure by its kind.
//!
//! What a request of the string load costs (2-CPU guest, server and client on a CPU each, 16 connections): the client 42-46 us with a
//! connection for each request, 97 % of it in the kernel's TCP, and about 20 us with kept ones; the server 22-25 us beside its work.
//! Hence [`DEFAULT_WORK_US`](crate::workloads::string::work::DEFAULT_WORK_US): with less the client comes near its limit.

pub(crate) mod answer;
mod connection;
mod course;
pub mod dialogue;
mod document;
pub mod endpoint;
mod engine;
pub(crate) mod pace;
mod recorder;
mod schedule;
mod threads;

pub use course::{BEGAN, Course};
pub use dialogue::{Dialogue, News, Refusal};
pub use document::{Broken, Document};
pub use endpoint::{Endpoint, Transport};
pub(crate) use pace::driven_load;
pub use pace::{Keys, Pace, Spacing};
pub use threads::drive;
