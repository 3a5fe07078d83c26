//! Where the time of CPUs and threads went, by the kernel's own account of each event.
//!
//! [`Counting`] has programs sum up in the kernel; [`Counting::read`] copies their tables into a [`Snapshot`]; [`Account::of`]
//! says by name what it holds. Times are net: an interrupt within a softirq within a thread is charged to the interrupt
//! alone.

mod between;
mod cgroups;
mod counting;
mod cpu;
mod names;
mod places;
mod sheet;
mod snapshot;
mod source;
mod stretches;
mod symbols;
mod taker;
mod takers;
pub(crate) mod target;
mod thread;

pub use counting::{Counting, TracePoints};
pub use cpu::{CpuAccount, TickKept};
pub use names::Names;
pub use sheet::{Account, FunctionAccount, FunctionKind, LineAccount, Route};
pub use snapshot::Snapshot;
pub use source::{Interruptions, Part, Source};
pub use stretches::{Distribution, Stretches};
pub use taker::TaskAccount;
pub(crate) use takers::remedy;
pub use takers::{Taker, TakerKind};
pub use target::Target;
pub use thread::{FromIdle, Migrations, ThreadAccount};
