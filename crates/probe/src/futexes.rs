//! Where the threads of a server wait for each other: at which futexes, with which stacks, who lets them go on, and whether those had a CPU
//! meanwhile. Source: trace points sched_switch and sched_waking, with the arguments of futex(2) from the registers of who waits and wakes.
//!
//! [`CountingFutexes`] has programs in the kernel sum that up; [`CountingFutexes::end`] gives [`FutexWaits`].

mod counting;
mod waits;

pub use counting::CountingFutexes;
pub use waits::{Futex, FutexKind, FutexWaits, WaitStacks};
