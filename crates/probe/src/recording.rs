//! What a sampler saw from its start to its stop, and the windows that can be cut out of it.

mod frame;
mod quotas;
mod series;
mod threads;
mod window;

pub(crate) use frame::{Frame, Layout, Moved, Note, QuotaReading};
pub use series::{Interval, SeriesHead, SeriesRow, ThreadStep};

use crate::rows::Head;

/// Samples in order of time, kept as differences. Cut windows out with [`Recording::window`].
#[derive(Debug)]
pub struct Recording {
    pub(crate) heads: Vec<Head>,
    pub(crate) frames: Vec<Frame>,
    pub(crate) notes: Vec<Note>,
    pub(crate) tick_ns: u64,
}

impl Recording {
    /// Number of samples.
    pub fn samples(&self) -> usize {
        self.frames.len()
    }

    /// Start of the first and end of the last sample, CLOCK_MONOTONIC ns; `None` when there is no sample.
    pub fn span_ns(&self) -> Option<(u64, u64)> {
        Some((self.frames.first()?.at_ns, self.frames.last()?.end_ns()))
    }

    /// Sampling instants that were passed over because the sampler was late.
    pub fn missed_deadlines(&self) -> u64 {
        self.frames.iter().map(|frame| frame.missed).sum()
    }

    /// CPU time that the samples cost, ns, in order of time.
    pub fn costs_ns(&self) -> impl Iterator<Item = u64> + '_ {
        self.frames.iter().map(|frame| frame.cpu_ns)
    }

    /// How long each sample lasted, ns, in order of time.
    pub fn lengths_ns(&self) -> impl Iterator<Item = u64> + '_ {
        self.frames.iter().map(|frame| frame.took_ns)
    }
}
