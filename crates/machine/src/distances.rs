//! Measured distances: how long a cache line takes from CPU to CPU, and how fast each node's memory is from each node.
//!
//! They are measured by `pinwise noise --cores --memory` (crate `probe`) and kept in a file. A machine is read with them when
//! its root holds them as the fact [`FACT`]: a capture that took them along, or [`Root::with_fact`](crate::Root::with_fact).

mod cores;
mod estimate;
mod fact;
mod file;
mod measured_machine;
mod memory;
mod nearness;
mod relation;
mod same_machine;

pub use cores::{CoreDistances, CoreGroup, CorePair};
pub use estimate::Estimate;
pub use fact::FACT;
pub(crate) use fact::read;
pub use file::{Distances, FORMAT};
pub use measured_machine::{MadeOn, Place};
pub use memory::{Buffer, MemoryCell, MemoryDistances};
pub use nearness::in_order;
pub use relation::Relation;
