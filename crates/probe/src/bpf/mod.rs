//! Programs that the kernel runs at its trace points, and the tables that they fill in. The only place that loads BPF.
//!
//! The programs are in `bpf/` beside `src/`: C, compiled ahead of time, so that nobody needs clang to build pinwise. Their tables
//! are mapped into this process and read without a system call ([`mapped`]).

#[macro_use]
mod records;
mod accounting;
mod cpu_tables;
mod entries;
mod event_programs;
mod event_records;
mod function_tables;
mod hooks;
mod loading;
mod lock_records;
mod lock_sums;
mod lockdown;
mod mapped;
mod objects;
pub(crate) mod refused;
mod request_records;
mod request_sums;
mod stack_records;
mod stack_sums;
mod system_calls;
mod tables;

pub(crate) use accounting::{Options, Sizes, load};
pub(crate) use cpu_tables::CpuTables;
pub(crate) use event_programs::{EventPrograms, EventTables};
pub(crate) use event_records::{
    EventControl, EventCpu, EventHead, EventStretch, EventSwitch, EventWake, Mark, NOT_HANDLED, event_flags,
    event_kind, mark_state,
};
pub(crate) use function_tables::FunctionTables;
pub(crate) use loading::{Loaded, missed_events};
pub(crate) use lock_records::{LockKey, LockSum, lock_kind, wait_end};
pub(crate) use lock_sums::{LockTables, load as load_locks};
pub(crate) use records::{
    BUCKETS, Control, CpuHead, CpuSeen, FUNCTION_ROWS, FUNCTIONS, FUNCTIONS_IN_ROW, Faults, FunctionSeen,
    FunctionsCame, KnownFunction, LineKey, LineSeen, Lost, Made, Place, Record, RouteKey, SLEEP_REASONS,
    SOURCE_SOFTIRQ, SOURCES, STEPS_BITS, STEPS_IN_LINE, STEPS_LINES, SourceSeen, StepsLine, StretchesSeen,
    Sum, TakerKey, TakerSeen, Tally, ThreadSeen, thread_state, waker_bits,
};
pub(crate) use request_records::{
    Connection, ListeningAddress, NOWHERE, PORTS, PeerKey, PortSeen, RequestControl, RequestSums,
    UNIX_NAME_BYTES, UnixName,
};
pub(crate) use request_sums::{RequestPlaces, RequestTables, load as load_requests};
pub(crate) use stack_records::{STACK_NO_CODE, StackControl, StackFrames, StackKey, StackSum, stack_hash};
pub(crate) use stack_sums::{StackTables, load as load_stacks, load_profile};
pub(crate) use tables::Tables;
#[cfg(test)]
pub(crate) use {mapped::Mapped, records::FUNCTIONS_IN_LINE, records::WakerSeen};
