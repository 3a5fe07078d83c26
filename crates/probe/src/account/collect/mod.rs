//! Reading what the kernel's programs have summed up, and what only /proc counts.

pub mod bits;
pub mod cgroups;
pub mod counted;
pub mod counting;
pub mod frequency;
pub mod functions;
pub mod group;
pub mod paging;
pub mod places;
pub mod planes;
pub mod reading;
pub mod snapshot;
pub mod target;
