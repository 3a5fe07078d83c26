//! Frames: what was read at one instant, as differences to the one before.

use std::sync::{Arc, LazyLock};

use machine::Missing;
use machine::limits::quotas::Throttling;

use crate::party::Party;
use crate::rows::Columns;
use crate::thread_reading::ThreadReading;

/// The layout of a frame that has none yet, shared: making a frame asks for no memory.
static NO_LAYOUT: LazyLock<Arc<Layout>> = LazyLock::new(Arc::default);

/// One sampling instant.
#[derive(Debug, Clone)]
pub(crate) struct Frame {
    /// Before the first file was read, CLOCK_MONOTONIC ns.
    pub at_ns: u64,
    /// The same instant on CLOCK_BOOTTIME, ns.
    pub boot_ns: u64,
    /// Until the last file was read, ns.
    pub took_ns: u64,
    /// CPU time that it cost, ns.
    pub cpu_ns: u64,
    /// Deadlines passed over before this frame.
    pub missed: u64,
    /// Which rows there were, with their CPUs; shared while nothing comes or goes.
    pub layout: Arc<Layout>,
    /// Cells that moved since the frame before, in row order.
    pub moved: Vec<Moved>,
    /// Cells that began again: row, CPU.
    pub restarted: Vec<(u32, u32)>,
    /// Gauges: row, CPU, reading.
    pub gauges: Vec<(u32, u32, u64)>,
    /// Watched threads; one that did not run shares the reading of the frame before.
    pub threads: Vec<Arc<ThreadReading>>,
    /// The same of the process trees beside the watched one.
    pub beside: Vec<(Party, Arc<ThreadReading>)>,
    /// CPU quotas.
    pub quotas: Vec<QuotaReading>,
}

/// What a quota's cgroup said at one instant.
#[derive(Debug, Clone)]
pub(crate) struct QuotaReading {
    pub party: Party,
    pub cgroup: Arc<str>,
    pub cpus: f64,
    pub throttling: Throttling,
}

impl Default for Frame {
    fn default() -> Self {
        Self {
            at_ns: 0,
            boot_ns: 0,
            took_ns: 0,
            cpu_ns: 0,
            missed: 0,
            layout: NO_LAYOUT.clone(),
            moved: Vec::new(),
            restarted: Vec::new(),
            gauges: Vec::new(),
            threads: Vec::new(),
            beside: Vec::new(),
            quotas: Vec::new(),
        }
    }
}

impl Frame {
    /// Empties it and keeps its room.
    pub fn clear(&mut self) {
        self.moved.clear();
        self.restarted.clear();
        self.gauges.clear();
        self.threads.clear();
        self.beside.clear();
        self.quotas.clear();
    }

    /// The instant that its readings stand for, ns.
    pub fn middle_ns(&self) -> u64 {
        self.at_ns + self.took_ns / 2
    }

    /// After the last file was read, ns.
    pub fn end_ns(&self) -> u64 {
        self.at_ns + self.took_ns
    }
}

/// The rows of a frame with their CPUs.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    pub rows: Vec<(u32, Columns)>,
}

/// A cell that moved between two frames.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Moved {
    pub row: u32,
    pub cpu: u32,
    pub delta: i64,
}

/// A missing fact, with the first and the last frame in which it was missed.
#[derive(Debug, Clone)]
pub(crate) struct Note {
    pub missing: Missing,
    pub first: usize,
    pub last: usize,
}
