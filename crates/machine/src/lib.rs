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
pub mod boot_loader;
pub mod capture;
pub mod cpu_choice;
pub mod cpuset;
pub mod devices;
pub mod diff;
pub mod distances;
pub mod energy;
mod escapes;
pub mod ethtool;
pub mod fault;
pub mod foreign;
pub mod guest_pin;
pub mod idle;
pub mod irqs;
pub mod kept;
pub mod kernel;
pub mod knobs;
pub mod limits;
pub mod machine;
pub mod memory_policy;
pub mod missing;
mod netns_pair;
pub mod outside;
pub mod own_folder;
pub mod placement;
pub mod plan;
pub mod platform_file;
pub mod power;
pub mod processes;
pub mod procfs;
pub mod program_path;
pub mod root;
pub mod secret;
pub mod topology;
pub mod tree;
pub mod virtualization;

pub use act::{Act, IoPriority, ProcessFile, ProcessRef, Scheduling, ThreadRef, UtilClamp};
pub use boot_loader::BootLoader;
pub use capture::Capture;
pub use cpuset::CpuSet;
pub use distances::Distances;
pub use ethtool::{EthtoolSetting, EthtoolState};
pub use fault::{Class, Fault};
pub use guest_pin::{GuestPart, GuestPin, PinScope};
pub use machine::Machine;
pub use memory_policy::{MemoryMode, MemoryPolicy};
pub use missing::{FactId, Missing, Notes};
pub use netns_pair::NetnsPair;
pub use outside::Outside;
pub use own_folder::OwnFolder;
pub use placement::{Dose, Neighbour, Placement, Setting};
pub use plan::{Plan, Planned};
pub use platform_file::PlatformFile;
pub use root::{Cause, ReadError, Root};
pub use tree::Tree;
