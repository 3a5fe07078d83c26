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
pub mod calling_thread;
mod capability;
mod cgroup;
pub mod confirm;
pub mod executor;
pub mod kernel;
pub mod launch;
pub mod ledger;
pub mod lock;
pub mod namespace;
mod procfs;
pub mod reboot;
pub mod record;
pub mod revert;
pub mod status;
pub mod subject;
pub mod undo;

#[cfg(any(test, feature = "emulated"))]
pub use acts::samples as act_samples;
pub use apply::{Applied, ApplyOptions, Foreseen};
pub use executor::{Hand, Mark, Receipt};
#[cfg(any(test, feature = "emulated"))]
pub use kernel::EmulatedKernel;
#[cfg(any(test, feature = "emulated"))]
pub use kernel::emulated as emulated_kernel;
pub use kernel::processes::latency_holder::hold as hold_latency;
pub use kernel::{
    Cgroups, Files, Identity, Kernel, LiveKernel, Memory, Network, Platform, ProcessSeen, Processes,
    SchedulingState, Threads,
};
pub use launch::exit_status::exit_words;
pub use launch::{Launch, Launched, MemoryLimit, Stdout};
pub use ledger::ledger_dir;
pub use lock::MachineLock;
pub use record::{How, OutOfReach, Reading, Value};
pub use status::{Status, status};
pub use undo::{Point, UndoOptions, UndoReport, Undone, undo};
