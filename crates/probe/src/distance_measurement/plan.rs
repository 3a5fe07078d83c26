//! What is to be measured, and how.

use std::time::Duration;

use machine::CpuSet;

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

/// How pairs are measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Cores {
    /// The answer comes so many turns of [`super::spin`] later: a control, to see whether a known delay is found.
    pub answer_after_spins: u32,
}

/// How memory is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Memory {
    /// Latency on a buffer of this size instead of one larger than the caches: a control.
    pub chase_bytes: Option<u64>,
}
