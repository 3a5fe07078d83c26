//! What the machine or its hypervisor does to the server's CPUs, and to its paths to memory and devices.

pub mod clock;
pub mod device_node;
pub mod idle_exit;
pub mod llc_shared;
pub mod llc_split;
pub mod pcie_link;
pub mod smt_sibling;
pub mod steal;

use super::Rule;

/// All of this field.
pub static ALL: &[&dyn Rule] = &[
    &steal::Steal,
    &idle_exit::IdleExit,
    &smt_sibling::SmtSibling,
    &clock::Clock,
    &pcie_link::PcieLink,
    &device_node::DeviceNode,
    &llc_shared::LlcShared,
    &llc_split::LlcSplit,
];
