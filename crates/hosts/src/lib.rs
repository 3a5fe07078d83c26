//! REACHES: other hosts that take part in a study.
//!
//! The controller reaches each host by the system's own ssh(1) or srun(1) ([`transport`]), copies itself there once ([`staging`]), and
//! speaks JSON lines with the agent that it starts ([`protocol`], [`agent`]) over standard streams. Clocks are compared by round trips
//! ([`clock`]); all parts of a load begin at one moment, and what they measured is merged ([`merge`]).
//!
//! An agent also runs verbs of pinwise on its host ([`Connection::run_verb`]), as a study whose server is there.
//!
//! An agent ends what it runs and takes its changes back when its input ends, when it hears nothing for as long as it was given, and when
//! it is asked to.

#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "what is said goes through one place of the binary"
)]

pub mod agent;
mod agent_process;
mod binary_hash;
mod child_end;
pub mod clock;
mod connection;
mod control_folder;
mod fetched_folder;
pub mod host;
pub mod inventory;
mod load_hosts;
pub mod merge;
pub mod protocol;
mod remote_folder;
mod remote_verb;
pub mod slurm;
pub mod staging;
pub mod survey;
pub mod transport;
mod verb_seen;
pub mod wire;

pub use connection::Connection;
pub use fetched_folder::nothing_at;
pub use host::{HostSpec, Role, Via};
pub use load_hosts::{LoadHosts, PartSeen, check_load};
pub use protocol::Verb;
pub use remote_verb::{RemoteEnd, RemoteFile, RemoteVerb};
