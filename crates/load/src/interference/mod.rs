//! Interference made on purpose: a storm of interrupts, a thief of CPU time, a busy CPU; and what an interrupt costs.

pub mod busy_cpu;
pub mod interrupt_cost;
pub mod storm;
pub mod thief;
