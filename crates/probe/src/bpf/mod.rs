//! Programs that the kernel runs at its trace points, and the tables that they fill in. The only place that loads BPF.
//!
//! The programs are in `bpf/` beside `src/`: C, compiled ahead of time, so that nobody needs clang to build pinwise. Their tables
//! are mapped into this process and read without a system call ([`mapped`]).

mod hooks;
mod loading;
mod mapped;
mod objects;
mod records;
mod tables;

pub(crate) use loading::{Loaded, Options, Sizes, load};
pub(crate) use mapped::Mapped;
pub(crate) use records::{
    BUCKETS, Control, CpuSeen, Faults, FunctionKey, FunctionSeen, LineKey, LineSeen, Lost, Place, Record,
    RouteKey, SOURCE_SOFTIRQ, SOURCES, STEPS_BITS, SourceSeen, SourceSteps, StretchesSeen, Sum, TakerKey,
    TakerSeen, Tally, ThreadSeen, thread_state,
};
pub(crate) use tables::Tables;
