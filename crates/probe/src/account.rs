//! Where the time of CPUs and threads went, by the kernel's own account of each event.
//!
//! [`Counting`] has programs sum up in the kernel; [`Counting::read`] copies their tables into a [`Snapshot`]; [`Account::of`]
//! says by name what it holds. Times are net: an interrupt within a softirq within a thread is charged to the interrupt
//! alone.

mod between;
mod bits;
mod by_source;
mod cgroups;
mod counted;
mod counting;
mod cpu;
mod detail;
mod distribution;
mod extreme;
mod frequency;
mod functions;
mod group;
mod look_back;
mod names;
mod nearness;
mod paging;
mod part;
mod places;
mod planes;
mod reading;
mod sheet;
mod sleep;
mod snapshot;
mod source;
mod stretches;
mod symbols;
mod taker;
mod takers;
pub(crate) mod target;
mod thread;
mod waker;
mod whole;

pub use by_source::BySource;
pub use counted::CountedInterrupts;
pub use counting::{Counting, TracePoints};
pub use cpu::{CpuAccount, TickKept};
pub use detail::Detail;
pub use distribution::Distribution;
pub use extreme::Extreme;
pub use frequency::Frequency;
pub use look_back::LookBack;
pub use names::Names;
pub use nearness::{Nearness, NodeShare};
pub use paging::Paging;
pub use part::Part;
pub use sheet::{Account, FunctionAccount, FunctionKind, LineAccount, Route};
pub use sleep::SleepReason;
pub use snapshot::Snapshot;
pub use source::{Interruptions, Source};
pub use stretches::Stretches;
pub use taker::TaskAccount;
pub use takers::{Taker, TakerKind};
pub use target::Target;
pub(crate) use thread::task_name;
pub use thread::{FromIdle, Migrations, ThreadAccount};
pub use waker::{Waker, WakerContext};
pub use whole::Whole;
