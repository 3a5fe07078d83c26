//! The interface to the operating system: everything that this crate reads from it or changes in it.
//!
//! There is one trait for each field, and [`Kernel`] has them all. Each is implemented by [`LiveKernel`], which is the running
//! system, and, beside that, by `EmulatedKernel`, a small one in memory that can refuse a change, read back something else, and
//! crash at every point. Only tests are built with the second one (feature `emulated`).
//!
//! Methods take `&self`; an implementation guards its own state.

mod cgroups;
#[cfg(any(test, feature = "emulated"))]
pub mod emulated;
mod files;
mod identity;
mod live;
mod memory;
mod network;
mod platform;
pub(crate) mod processes;
pub(crate) mod program;
mod pseudo_files;
mod scheduling_state;
mod syscall;
pub(crate) mod threads;

use std::sync::Arc;

use machine::Fault;

use crate::namespace::Namespace;
use crate::namespace::search::{self, Found};

pub use cgroups::Cgroups;
#[cfg(any(test, feature = "emulated"))]
pub use emulated::EmulatedKernel;
pub use files::Files;
pub use identity::Identity;
pub use live::LiveKernel;
pub use memory::Memory;
pub use network::Network;
pub use platform::{PlacedFile, Platform};
pub use processes::{Gated, ProcessSeen, Processes};
pub use scheduling_state::{SchedulingState, policy_text};
pub use threads::{Threads, Users};

pub(crate) use memory::swap;
pub(crate) use platform::parameters;
pub(crate) use processes::descendants;

/// The operating system, seen from one network namespace.
pub trait Kernel:
    Files + Threads + Memory + Processes + Cgroups + Network + Platform + Identity + Send + Sync
{
    /// The same operating system, seen from another network namespace.
    fn in_network(&self, network: &Namespace) -> FoundNetwork<'_>;
}

/// What became of a network namespace.
pub enum FoundNetwork<'k> {
    /// It is alive; this is the kernel as seen from it.
    There(Box<dyn Kernel + 'k>),
    /// It has ended, for certain.
    Ended,
    /// Nothing leads to it, and whether it has ended is not known.
    Lost,
}

impl Kernel for LiveKernel {
    fn in_network(&self, network: &Namespace) -> FoundNetwork<'_> {
        match search::find(network) {
            Found::Open(file) => FoundNetwork::There(Box::new(Self::seen_from(Arc::new(file)))),
            Found::Ended => FoundNetwork::Ended,
            Found::Lost => FoundNetwork::Lost,
        }
    }
}

#[cfg(any(test, feature = "emulated"))]
impl Kernel for EmulatedKernel {
    fn in_network(&self, network: &Namespace) -> FoundNetwork<'_> {
        match self.seen_from(network) {
            Some(there) => FoundNetwork::There(Box::new(there)),
            None => FoundNetwork::Ended,
        }
    }
}

/// Clock ticks since boot, as a fault where /proc does not show them.
pub(crate) fn now_ticks(kernel: &dyn Kernel) -> Result<u64, Fault> {
    kernel.now_ticks().map_err(|e| Fault::io("/proc/uptime", &e, "mount /proc"))
}
