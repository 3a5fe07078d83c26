//! Measured distances: how long a cache line takes from CPU to CPU, and how fast each node's memory is from each node.
//!
//! [`measure`] runs both and gives [`Distances`]. What is common to them: every pair or cell is measured once in each round, in an
//! order drawn anew, so that what drifts meets all alike; the figure of a round is the median of many short batches, so that a
//! batch in which a thread had lost its CPU moves a rank and no mean; and the figure of a pair is the median of its rounds, with
//! the exact interval of order statistics over rounds, not over batches, which follow each other too closely to count as
//! independent.

mod bandwidth;
mod chase;
mod cores;
mod mapping;
mod median;
mod memory;
mod node_memory;
mod order;
mod ping_pong;
mod told;

use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use machine::distances::{FORMAT, MadeOn};
use machine::{Class, CpuSet, Distances, Fault, Machine, Missing, Root};

pub use cores::Cores;
pub use memory::Memory;
pub use ping_pong::spin;

/// What is to be measured.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Plan {
    /// The CPUs: online, and allowed to this process.
    pub cpus: CpuSet,
    /// From CPU to CPU.
    pub cores: Option<Cores>,
    /// From node to node.
    pub memory: Option<Memory>,
    /// How long each of them takes; as long as it deserves when left out.
    pub time: Option<Duration>,
    /// What orders are drawn from.
    pub seed: u64,
}

/// What the caller does for a measurement: this crate sets nothing.
pub trait Surroundings: Sync {
    /// Confines the calling thread to a CPU.
    ///
    /// # Errors
    /// It may not run there.
    fn enter(&self, cpu: u32) -> Result<(), Fault>;

    /// So much of `what` is done, 0 to 1.
    fn passes(&self, what: &str, done: f64);
}

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

/// How many times as long as planned a measurement may take before it ends with the rounds that it has.
const MOST_TIMES: u32 = 2;

/// Whether the time is used up before the rounds are, which is said. A first round there is in any case.
fn overdue(
    began: Instant,
    planned: Duration,
    (done, of): (usize, usize),
    what: &str,
    missing: &mut Vec<Missing>,
) -> bool {
    let overdue = done > 0 && began.elapsed() > planned * MOST_TIMES;
    if overdue {
        let fact = format!("{} of {of} rounds between {what}", of - done);
        let why = format!(
            "the rounds took more than {MOST_TIMES} times as long as planned: the CPUs are too busy with others"
        );
        missing.push(Missing::new(fact, why));
    }
    overdue
}

fn interrupted() -> Fault {
    Fault::new(Class::Interrupted, "distances", "stopped by a signal", "")
}
