//! What an account says of a CPU, a thread, a taker: its rows.

pub mod by_source;
pub mod changed_cpu;
pub mod cpu;
pub mod distribution;
pub mod extreme;
pub mod nearness;
pub mod offline;
pub mod part;
pub mod sleep;
pub mod source;
pub mod stretches;
pub mod taker;
pub mod takers;
pub mod thread;
pub mod waker;
