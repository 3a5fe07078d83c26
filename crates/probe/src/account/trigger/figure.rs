//! The figures of an interval that a condition can name.

use std::fmt;

use super::value::Unit;
use crate::account::{Stretches, ThreadAccount};

/// The word before the name of a taker.
const TAKER: &str = "taker";

/// Waits for a CPU, by their reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    /// From being woken until it has a CPU.
    RunQueue,
    /// It lost the CPU and could have run on.
    Preempted,
    /// Its cgroup has used up its quota.
    Throttled,
}

impl Wait {
    /// All.
    pub(super) const ALL: [Self; 3] = [Self::RunQueue, Self::Preempted, Self::Throttled];

    /// These waits of a thread, or of all together.
    pub(super) fn of(self, thread: &ThreadAccount) -> &Stretches {
        match self {
            Self::RunQueue => &thread.run_queue,
            Self::Preempted => &thread.preempted,
            Self::Throttled => &thread.throttled,
        }
    }
}

/// A figure of an interval.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Figure {
    /// The longest wait of a kind of any thread of the target.
    Longest(Wait),
    /// The mean length of waits of a kind.
    Mean(Wait),
    /// Share of waits of a kind in the time in which threads of the target were on a CPU, waited for one or were blocked.
    ShareOf(Wait),
    /// The longest wait for a CPU of any kind.
    LongestWait,
    /// 99 of 100 waits for a CPU that ended in the interval, of any kind, were at most so long.
    P99Wait,
    /// Share of being blocked in the same time as that of [`ShareOf`](Self::ShareOf).
    Blocked,
    /// What everything of a name took, as shares in the table of takers: of the time in which the target wanted a CPU; without a target,
    /// of the CPUs' time.
    Taker(String),
    /// Share of interrupts and softirqs in the time of the CPUs.
    Interrupts,
    /// Interrupts a second, softirqs not among them, on all CPUs together.
    InterruptsPerSecond,
    /// Share of the CPUs' time that the hypervisor took.
    Steal,
    /// Switches that the kernel did not report to the programs.
    UnreportedSwitches,
}

impl Figure {
    /// All with a name of their own.
    fn named() -> impl Iterator<Item = Self> {
        let times = Wait::ALL.map(Self::Longest).into_iter().chain([Self::LongestWait, Self::P99Wait]);
        let times = times.chain(Wait::ALL.map(Self::Mean));
        let shares =
            Wait::ALL.map(Self::ShareOf).into_iter().chain([Self::Blocked, Self::Interrupts, Self::Steal]);
        times.chain(shares).chain([Self::InterruptsPerSecond, Self::UnreportedSwitches])
    }

    /// The figure of this name that is measured in this unit. Some names are of two: `preempted` in ms is the longest time, in % the share.
    pub(super) fn read(text: &str, unit: Unit) -> Option<Self> {
        let text = text.trim();
        if let Some(name) = text.strip_prefix(TAKER)
            && name.starts_with(char::is_whitespace)
        {
            return (unit == Unit::Share).then(|| Self::Taker(name.trim_start().to_string()));
        }
        let words: Vec<&str> = text.split_whitespace().collect();
        let name = match words.join(" ") {
            // Lengths are sorted for waits of all kinds together.
            name if name == "p99 wakeup" => "p99 wait".to_string(),
            name => name,
        };
        Self::named().find(|figure| figure.unit() == unit && figure.name() == name)
    }

    /// What there is, by unit.
    pub(super) fn possible() -> String {
        let names = |unit: Unit| {
            let names = Self::named().filter(|figure| figure.unit() == unit);
            names.map(|figure| figure.name().to_string()).collect::<Vec<_>>().join(", ")
        };
        format!(
            "in us, ms or s: {}; in %: {}, {TAKER} NAME; as a number: {}",
            names(Unit::Time),
            names(Unit::Share),
            names(Unit::Number)
        )
    }

    /// What it is measured in.
    pub fn unit(&self) -> Unit {
        match self {
            Self::Longest(_) | Self::Mean(_) | Self::LongestWait | Self::P99Wait => Unit::Time,
            Self::ShareOf(_) | Self::Blocked | Self::Taker(_) | Self::Interrupts | Self::Steal => Unit::Share,
            Self::InterruptsPerSecond | Self::UnreportedSwitches => Unit::Number,
        }
    }

    /// Whether it is one of the threads of a target: without one it is never known.
    pub fn is_of_threads(&self) -> bool {
        match self {
            Self::Longest(_) | Self::Mean(_) | Self::ShareOf(_) => true,
            Self::LongestWait | Self::P99Wait | Self::Blocked => true,
            Self::Taker(_) | Self::Interrupts | Self::InterruptsPerSecond => false,
            Self::Steal | Self::UnreportedSwitches => false,
        }
    }

    fn name(&self) -> &str {
        match self {
            Self::Longest(Wait::RunQueue) | Self::ShareOf(Wait::RunQueue) => "run queue",
            Self::Longest(Wait::Preempted) | Self::ShareOf(Wait::Preempted) => "preempted",
            Self::Longest(Wait::Throttled) | Self::ShareOf(Wait::Throttled) => "throttled",
            Self::Mean(Wait::RunQueue) => "mean run queue",
            Self::Mean(Wait::Preempted) => "mean preempted",
            Self::Mean(Wait::Throttled) => "mean throttled",
            Self::LongestWait => "wait",
            Self::P99Wait => "p99 wait",
            Self::Blocked => "blocked",
            Self::Taker(name) => name,
            Self::Interrupts => "interrupts",
            Self::InterruptsPerSecond => "interrupts/s",
            Self::Steal => "steal",
            Self::UnreportedSwitches => "unreported switches",
        }
    }
}

impl fmt::Display for Figure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Taker(name) => write!(f, "{TAKER} {name}"),
            _ => f.write_str(self.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_is_read_by_its_name_and_unit() {
        for figure in Figure::named() {
            assert_eq!(Figure::read(&figure.to_string(), figure.unit()), Some(figure.clone()), "{figure}");
            assert!(Figure::possible().contains(figure.name()), "{figure}");
        }
    }

    #[test]
    fn the_unit_distinguishes_a_time_from_a_share() {
        assert_eq!(Figure::read("preempted", Unit::Time), Some(Figure::Longest(Wait::Preempted)));
        assert_eq!(Figure::read(" preempted ", Unit::Share), Some(Figure::ShareOf(Wait::Preempted)));
        assert_eq!(Figure::read("preempted", Unit::Number), None);
        assert_eq!(Figure::read("blocked", Unit::Time), None, "of being blocked only sums are kept");
    }

    #[test]
    fn takers_are_read_with_their_whole_name() {
        let taker = |name: &str| Some(Figure::Taker(name.into()));
        assert_eq!(Figure::read("taker hog", Unit::Share), taker("hog"));
        assert_eq!(Figure::read("taker  softirq NET_RX ", Unit::Share), taker("softirq NET_RX"));
        for (text, unit) in [
            ("taker", Unit::Share),
            ("taker ", Unit::Share),
            ("takerx", Unit::Share),
            ("taker hog", Unit::Time),
        ] {
            assert_eq!(Figure::read(text, unit), None, "{text}");
        }
    }

    #[test]
    fn wake_ups_are_read_as_waits() {
        assert_eq!(Figure::read("p99  wakeup", Unit::Time), Some(Figure::P99Wait));
    }
}
