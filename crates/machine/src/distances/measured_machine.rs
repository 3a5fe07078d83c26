//! What names the machine that was measured: its CPUs and where they are.

use serde::{Deserialize, Serialize};

use crate::CpuSet;

/// The machine of a measurement. No host name: it is the CPUs that matter, and a capture masks names.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct MadeOn {
    /// The CPUs' name for themselves (`model name` of /proc/cpuinfo on x86); `None` where it has none.
    pub model: Option<String>,
    /// CPUs that were there, online or not.
    pub present: Option<CpuSet>,
    /// The CPUs that were online.
    pub places: Vec<Place>,
}

/// Where a CPU was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Number.
    pub cpu: u32,
    /// Package.
    pub package: Option<u32>,
    /// Node.
    pub node: Option<u32>,
    /// Core within its package.
    pub core: Option<u32>,
}
