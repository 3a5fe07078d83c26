//! WRITES: the only crate that alters the machine.
//!
//! Every change goes through a [`Hand`]: the old value and the intent are fsynced to the ledger, then the change is
//! made, read back and recorded. So whatever becomes of this process - Ctrl-C, kill -9, a full disk, a reboot -
//! [`undo`](undo::undo) finds what was changed and restores what is still ours.
//!
//! ```no_run
//! # use pinwise_change as change;
//! # fn main() -> Result<(), machine::Fault> {
//! let mut hand = change::Hand::live("move the NIC's interrupt away")?;
//! let start = hand.mark();
//! let act = machine::Act::WriteFile { path: "/proc/irq/38/smp_affinity_list".into(), value: "0".into(), netns: None };
//! let receipt = hand.perform(&act)?;
//! assert!(receipt.took_effect, "{} reads {}", receipt.object, receipt.read_back);
//! hand.undo_to(start);
//! hand.finish()
//! # }
//! ```

#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "what is said goes through one place of the binary"
)]

mod acts;
pub mod apply;
mod capability;
mod cgroup_place;
pub mod confirm;
mod cpuset_cgroup;
pub mod exit_words;
pub mod ground;
pub mod group;
pub mod hand;
mod heirs;
pub mod hold;
pub mod kernel;
pub mod launch;
pub mod ledger;
pub mod lock;
pub mod memory_cgroup;
pub mod namespace;
pub mod own;
mod owner;
mod procfs;
mod reach;
pub mod record;
pub mod restart;
pub mod revert;
mod shares;
pub mod status;
pub mod subject;
mod swap;
mod take_back;
pub mod tree_affinity;
pub mod undo;

pub use apply::{Applied, ApplyOptions, Foreseen};
pub use hand::{Hand, Mark, Receipt};
pub use kernel::emulated as emulated_kernel;
pub use kernel::{
    Cgroups, EmulatedKernel, Files, Identity, Kernel, LiveKernel, Memory, Network, Platform, ProcessSeen,
    Processes, SchedulingState, Threads,
};
pub use launch::{Launch, Launched, Stdout};
pub use ledger::ledger_dir;
pub use lock::MachineLock;
pub use memory_cgroup::MemoryLimit;
pub use record::{How, OutOfReach, Reading, Value};
pub use status::{Status, status};
pub use take_back::Undone;
pub use tree_affinity::PinnedTree;
pub use undo::{Point, UndoOptions, UndoReport, undo};
