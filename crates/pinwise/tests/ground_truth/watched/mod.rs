//! `pinwise watch` against actors that know what they did: each keeps account by itself, by the clock that watch uses.

pub mod actor;
mod after_the_end;
mod born;
mod container;
mod control;
mod counted;
mod cpu_time;
mod disk;
mod everybody;
mod faults;
mod figures;
mod folded;
mod gap_loop;
mod left_out;
mod limited;
mod migrating;
mod named;
mod packets;
mod perfetto;
mod ping;
mod quota;
mod reclaim;
mod recorded;
mod remote_calls;
mod ring;
mod sleeps;
mod starved;
mod sums;
mod thief;
mod timers;
mod unprivileged;
mod waker;
mod watching;
mod woken_by;

pub use figures::interrupts;
pub use limited::Limited;
