//! Slurm: what an allocation is and has, and the batch script that asks for one. Pure but for [`address`], [`submit`] and
//! [`is_exclusive`], which ask Slurm.

pub mod address;
mod allocation;
mod batch_script;
mod command;
mod node_list;

pub use allocation::{Allocation, SERVER_NODE, check_same_nodes};
pub use batch_script::{BatchScript, CaseFolder};
pub use command::{is_exclusive, submit};
