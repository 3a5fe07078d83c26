//! Why the kernel did not stop a tick, in its own word.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What still needs the tick: a bit of `enum tick_dep_bits` (include/linux/tick.h), as the field `dependency` of the
/// tracepoint timer:tick_stop reports it.
///
/// The kernel names one at a time, the first that it finds in the order of this list (check_tick_dependency in
/// kernel/time/tick-sched.c): a CPU can have others too.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum TickDependency {
    /// A POSIX CPU timer is armed: timer_create(2) on a CPU clock, setitimer(2) other than ITIMER_REAL, RLIMIT_CPU.
    PosixTimer,
    /// A perf event that samples at a frequency, wherever it runs; all CPUs.
    PerfEvents,
    /// More than one task can run on this CPU.
    Sched,
    /// The clock source cannot be relied on; all CPUs.
    ClockUnstable,
    /// RCU waits for this CPU.
    Rcu,
    /// An expedited grace period of RCU waits for this CPU.
    RcuExp,
    /// A mask that pinwise has no name for.
    Other(u64),
}

impl TickDependency {
    /// From the mask that the tracepoint reports; `None` for TICK_DEP_MASK_NONE, which is no dependency.
    pub fn from_mask(mask: u64) -> Option<Self> {
        Some(match mask {
            0 => return None,
            0x01 => Self::PosixTimer,
            0x02 => Self::PerfEvents,
            0x04 => Self::Sched,
            0x08 => Self::ClockUnstable,
            0x10 => Self::Rcu,
            0x20 => Self::RcuExp,
            other => Self::Other(other),
        })
    }

    /// What it means, for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::PosixTimer => {
                "a POSIX CPU timer is armed, by timer_create, setitimer or a limit of CPU time"
            }
            Self::PerfEvents => "a perf event needs the tick",
            Self::Sched => "more than one task can run on this CPU",
            Self::ClockUnstable => "the clock source is unstable",
            Self::Rcu => "RCU waits for this CPU",
            Self::RcuExp => "an expedited grace period of RCU waits for this CPU",
            Self::Other(_) => "a reason that this kernel has and pinwise does not know",
        }
    }
}

/// The kernel's word: `SCHED`; of one without a name the mask, `0x40`.
impl fmt::Display for TickDependency {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PosixTimer => "POSIX_TIMER",
            Self::PerfEvents => "PERF_EVENTS",
            Self::Sched => "SCHED",
            Self::ClockUnstable => "CLOCK_UNSTABLE",
            Self::Rcu => "RCU",
            Self::RcuExp => "RCU_EXP",
            Self::Other(mask) => return write!(f, "{mask:#x}"),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_bit_has_the_kernels_word_and_one_for_people() {
        let names: Vec<String> =
            (0..7).map(|bit| TickDependency::from_mask(1 << bit).unwrap().to_string()).collect();
        let kernels = ["POSIX_TIMER", "PERF_EVENTS", "SCHED", "CLOCK_UNSTABLE", "RCU", "RCU_EXP", "0x40"];
        assert_eq!(names, kernels);
        assert_eq!(TickDependency::from_mask(0), None);
        assert_eq!(TickDependency::from_mask(4).unwrap().words(), "more than one task can run on this CPU");
    }

    #[test]
    fn json_has_the_same_word() {
        for bit in 0..6 {
            let dependency = TickDependency::from_mask(1 << bit).unwrap();
            assert_eq!(serde_json::to_string(&dependency).unwrap(), format!("\"{dependency}\""));
        }
        let other = serde_json::to_string(&TickDependency::Other(64)).unwrap();
        assert_eq!(serde_json::from_str::<TickDependency>(&other).unwrap(), TickDependency::Other(64));
    }
}
