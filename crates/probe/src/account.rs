//! Where the time of CPUs and threads went, by the kernel's own account of each event.
//!
//! [`Counting`] has programs sum up in the kernel; [`Counting::read`] copies their tables into a [`Snapshot`]; [`Account::of`]
//! says by name what it holds. Times are net: an interrupt within a softirq within a thread is charged to the interrupt
//! alone.

pub(crate) mod collect;
pub(crate) mod name;
pub(crate) mod rows;
mod time_account;
pub mod trigger;
pub(crate) mod window;
mod working;

pub use crate::changed_cpu::ChangedCpu;
pub use collect::counting::{Counting, TracePoints};
pub use collect::frequency::Frequency;
pub use collect::interrupt_counts::CountedInterrupts;
pub use collect::paging::Paging;
pub use collect::snapshot::Snapshot;
pub use collect::target::Target;
pub use name::names::Names;
pub use rows::by_source::BySource;
pub use rows::cpu::{CpuAccount, TickKept};
pub use rows::distribution::Distribution;
pub use rows::extreme::Extreme;
pub use rows::nearness::{Nearness, NodeShare};
pub use rows::offline::Offline;
pub use rows::part::Part;
pub use rows::sleep::SleepReason;
pub use rows::source::{Interruptions, Source};
pub use rows::stretches::Stretches;
pub use rows::taker::TaskAccount;
pub use rows::takers::{Taker, TakerKind};
pub(crate) use rows::thread::task_name;
pub use rows::thread::{FromIdle, Migrations, ThreadAccount};
pub use rows::waker::{Waker, WakerContext};
pub use time_account::{Account, FunctionAccount, FunctionKind, LineAccount, Route};
pub use window::detail::Detail;
pub use window::interval_sum::IntervalSum;
pub use window::look_back::LookBack;
pub use working::working_threshold;
