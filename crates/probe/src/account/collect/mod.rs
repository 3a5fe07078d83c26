//! Reading what the kernel's programs have summed up, and what only /proc counts.

pub mod absence;
pub mod absences;
pub mod bit_sets;
pub mod cgroups;
pub mod counting;
pub mod cpu_group;
pub mod frequency;
pub mod functions;
pub mod interrupt_counts;
pub mod paging;
pub mod places;
pub mod reading;
pub mod snapshot;
pub mod sparse_table;
pub mod target;
