//! Measured distances: how long a cache line takes from CPU to CPU, and how fast each node's memory is from each node.
//!
//! [`measure`] runs both and gives [`Distances`]. What is common to them: every pair or cell is measured once in each round, in an
//! order drawn anew, so that what drifts meets all alike; the figure of a round is the median of many short batches, so that a
//! batch in which a thread had lost its CPU moves a rank and no mean; and the figure of a pair is the median of its rounds, with
//! the exact interval of order statistics over rounds, not over batches, which follow each other too closely to count as
//! independent.

mod bandwidth;
mod cores;
mod mapping;
mod median;
mod memory;
mod node_memory;
mod ping_pong;
mod plan;
mod pointer_chase;
mod random_order;
mod rounds;
mod summary;
mod surroundings;

use std::sync::atomic::AtomicBool;
use std::time::{SystemTime, UNIX_EPOCH};

use machine::distances::{FORMAT, MadeOn};
use machine::{Distances, Fault, Machine, Root};

pub use ping_pong::spin;
pub use plan::{Cores, Memory, Plan};
pub use surroundings::Surroundings;

/// Measures what the plan asks for. The CPUs are fully busy, two at a time for CPUs, a node's at a time for memory.
///
/// # Errors
/// `stop` was raised, or the time that was asked for is too short for six rounds.
pub fn measure(
    plan: &Plan,
    machine: &Machine,
    root: &Root,
    surroundings: &dyn Surroundings,
    stop: &AtomicBool,
) -> Result<Distances, Fault> {
    let since_1970 = SystemTime::now().duration_since(UNIX_EPOCH);
    let mut missing = Vec::new();
    let cores = match &plan.cores {
        Some(cores) => cores::measure(cores, plan, machine, surroundings, stop, &mut missing)?,
        None => None,
    };
    let memory = match &plan.memory {
        Some(memory) => memory::measure(memory, plan, machine, surroundings, stop, &mut missing)?,
        None => None,
    };
    Ok(Distances {
        format: FORMAT,
        pinwise: env!("CARGO_PKG_VERSION").into(),
        measured_unix_s: since_1970.map_or(0, |since| since.as_secs()),
        made_on: MadeOn::of(machine, root),
        cores,
        memory,
        missing,
    })
}
