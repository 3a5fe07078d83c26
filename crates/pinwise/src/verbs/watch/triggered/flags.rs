//! Flags of a recorder that keeps what came around a condition.

use std::path::PathBuf;
use std::time::Duration;

use probe::account::trigger::{Pace, When};

use crate::window;

/// Kept of the time after the interval in which the condition held.
const AFTER: Duration = Duration::from_secs(5);

// Flags of `pinwise watch --record` that say when a part is kept, and where.
#[derive(Debug, clap::Args)]
pub struct Flags {
    /// When this holds in an interval of the ring, keep a copy of that interval, of what came before it and of the 5 s after it, next to
    /// the ring, and diagnose it: 'run queue > 5ms', 'p99 wait > 10ms', 'preempted > 10%', 'taker backup > 5%', ..., or SIGUSR1: when
    /// pinwise receives that signal (docs/watch.md). May be given several times; any one of them suffices
    #[arg(long, value_name = "CONDITION", requires = "record")]
    pub when: Vec<When>,
    /// How much of the time before the condition to keep
    #[arg(long, value_name = "TIME", default_value = "30s", value_parser = window::length, requires = "when")]
    pub keep: Duration,
    /// How long to ignore conditions after a part was kept
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = window::length, requires = "when")]
    pub rest: Duration,
    /// Keep at most this many parts; later ones are not kept, and none is removed
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..), requires = "when")]
    pub most: u32,
    /// Keep the parts in this folder instead; it is created if it does not exist
    #[arg(long, value_name = "FOLDER", requires = "when")]
    pub into: Option<PathBuf>,
}

impl Flags {
    /// The same for those who look at intervals.
    pub fn pace(&self) -> Pace {
        let ns = |length: Duration| u64::try_from(length.as_nanos()).unwrap_or(u64::MAX);
        Pace { before_ns: ns(self.keep), after_ns: ns(AFTER), rest_ns: ns(self.rest), most: self.most }
    }
}
