//! READS: what one host is at one moment, from the live system, a directory or a capture.
//!
//! Nothing in this crate alters the machine; what it writes are files, in folders of pinwise's own ([`own_folder`]) and where the user
//! says. Every reader takes a [`Root`], so that what works here works on a tree that was captured elsewhere. A fact that could not be
//! read is [`Missing`] with its reason, never a zero.

#![deny(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "what is said goes through one place of the binary"
)]

pub mod act;
pub mod capture;
pub mod cpu_choice;
pub mod cpu_groups;
pub mod cpuset;
pub mod devices;
pub mod diff;
pub mod distances;
pub mod ethtool;
pub mod fault;
pub mod irqs;
pub mod isolation;
pub mod kernel;
pub mod knobs;
pub mod limits;
pub mod machine;
pub mod own_folder;
pub mod persistence;
pub mod plan;
pub mod planned_acts;
pub mod power;
pub mod processes;
pub mod procfs;
pub mod program_path;
pub mod root;
pub mod secret;
pub mod topology;
pub mod tuned_profile;
pub mod untrusted;
pub mod virtualization;
pub mod wording;

pub use act::{
    Act, BootLoader, GuestPart, GuestPin, IoPriority, NetnsPair, PinScope, PlatformFile, ProcessFile,
    ProcessRef, Scheduling, ThreadRef, UtilClamp,
};
pub use capture::Capture;
pub use cpu_choice::CpuChoice;
pub use cpuset::CpuSet;
pub use distances::Distances;
pub use ethtool::{EthtoolSetting, EthtoolState};
pub use fault::{Class, Fault, IS_A_BUG};
pub use machine::{FactId, Machine, Missing, Notes};
pub use own_folder::OwnFolder;
pub use plan::{Dose, MemoryMode, MemoryPolicy, Neighbour, Placement, Plan, Planned, Setting};
pub use planned_acts::PlannedActs;
pub use root::{Cause, ReadError, Root, Tree};
pub use untrusted::text::Outside;
