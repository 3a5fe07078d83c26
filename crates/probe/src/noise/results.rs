//! What was measured, by name.

use std::collections::BTreeMap;

use machine::{CpuSet, Missing};
use serde::{Deserialize, Serialize};

use crate::account::Source;

/// How the loop is scheduled.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Policy {
    /// As any other task.
    #[serde(rename = "SCHED_OTHER")]
    Other,
    /// Before all that is not real-time. Throttling (sysctl kernel.sched_rt_runtime_us) and the fair server of Linux 6.12 and later
    /// still give time to others.
    #[serde(rename = "SCHED_FIFO")]
    Fifo,
}

/// What gaps were joined to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum JoinedTo {
    /// The kernel's events inside each gap.
    Events,
    /// Nothing: what /proc counts over the window stands beside them.
    Counts,
}

/// What takes a CPU from the loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Cause {
    /// Tasks other than the loop.
    OtherTasks,
    /// The loop was off the CPU, and nobody was on it: its quota was used up, or real-time tasks were throttled.
    OffCpuIdle,
    /// The hypervisor, by the word of the run queue's clock.
    Steal,
    /// No event of the kernel is inside: host or hardware.
    Unexplained,
    /// An interrupt or softirq.
    #[serde(untagged)]
    Source(Source),
}

impl Cause {
    /// In words, for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::OtherTasks => "other tasks",
            Self::OffCpuIdle => "off the CPU, nobody on it",
            Self::Steal => "steal",
            Self::Unexplained => "unexplained: host or hardware",
            Self::Source(source) => source.words(),
        }
    }
}

/// The noise of some CPUs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Noise {
    /// Length of the window of each CPU as asked for, s.
    pub asked_s: f64,
    /// A gap is longer than this, ns.
    pub threshold_ns: u64,
    /// How the loops were scheduled.
    pub policy: Policy,
    /// What gaps were joined to.
    pub joined_to: JoinedTo,
    /// CPUs that were measured at the same time, in order.
    pub rounds: Vec<CpuSet>,
    /// The CPUs, quietest first.
    pub cpus: Vec<CpuNoise>,
    /// What is not known, and why.
    pub missing: Vec<Missing>,
}

/// How a loop came to run on another CPU before its window was over.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Left {
    /// The CPU went offline: the kernel moved the loop.
    Offline,
    /// The CPU is online: the affinity of the loop was changed.
    Moved,
}

/// The noise of one CPU.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CpuNoise {
    /// The CPU.
    pub cpu: u32,
    /// Length of its window, s: less than was asked for where the loop was moved away.
    pub window_s: f64,
    /// How it was moved away; `None`: it stayed to the end. What came after that is in no figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub left: Option<Left>,
    /// Share of the window in gaps, 0 to 1.
    pub share: f64,
    /// How many gaps.
    pub gaps: u64,
    /// Their length together, ns.
    pub gap_ns: u64,
    /// The longest, ns; 0 where there was none.
    pub longest_gap_ns: u64,
    /// Half of them are at most this long, ns: the upper edge of its step, at most a quarter above the true value.
    pub gap_p50_ns: Option<u64>,
    /// The same for 99 of 100.
    pub gap_p99_ns: Option<u64>,
    /// Gaps longer than 1, 10, 100 and 1,000 us; `None` where shorter gaps than the threshold would count.
    pub above_1_us: Option<u64>,
    #[allow(missing_docs)]
    pub above_10_us: Option<u64>,
    #[allow(missing_docs)]
    pub above_100_us: Option<u64>,
    #[allow(missing_docs)]
    pub above_1000_us: Option<u64>,
    /// Interrupts of the CPU's own timer: the tick, and timers that tasks have set. `None` where nobody counts them.
    pub ticks: Option<u64>,
    /// The same a second.
    pub ticks_per_s: Option<f64>,
    /// How often the loop was made to leave the CPU (involuntary context switches).
    pub preempted: Option<u64>,
    /// What the gaps are made of, most time first; times add up to those of the gaps. Empty where they were not joined.
    pub causes: Vec<CauseNoise>,
    /// Time in gaps with kernel events inside that no event has: entry and exit of interrupts, and whatever the host or
    /// hardware took meanwhile, ns. It is in the causes as well.
    pub entry_and_exit_ns: Option<u64>,
    /// Events in steps of the loop that are no gap.
    pub below_threshold: Option<BelowThreshold>,
    /// Tasks that ran while the loop wanted the CPU, most time first.
    pub tasks: Vec<TaskNoise>,
    /// Lines of devices, most time first.
    pub lines: Vec<LineNoise>,
    /// Where gaps were not joined: what /proc counted in the window, by row of /proc/interrupts and /proc/softirqs.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<String, u64>,
    /// The loop itself.
    pub loop_cost: LoopCost,
    /// Over time.
    pub series: Series,
    /// How many gaps have which length.
    pub lengths: Vec<Step>,
    /// The longest gaps, longest first.
    pub longest: Vec<LongGap>,
}

/// What a cause has in the gaps of a CPU.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct CauseNoise {
    /// The cause.
    pub cause: Cause,
    /// Gaps in which it has a part.
    pub gaps: u64,
    /// Its events inside gaps; for tasks and idling how often the loop was put off.
    pub events: u64,
    /// Its share of the gaps, ns: its own time, entry and exit.
    pub gap_ns: u64,
    /// Its own time net of everything that interrupted it, ns: handlers, slices.
    pub net_ns: u64,
    /// The way there and back, ns: what is left of its gaps, in equal parts by interrupts where there are several.
    pub entry_and_exit_ns: u64,
    /// The longest gap in which it has a part, ns.
    pub longest_gap_ns: u64,
    /// Gaps in which it is alone; `None` for those that are no source.
    pub alone: Option<Alone>,
}

/// Gaps with one source and nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Alone {
    /// How many.
    pub gaps: u64,
    /// Mean length of these gaps, ns.
    pub mean_gap_ns: f64,
    /// Mean time of the handlers inside, ns.
    pub mean_net_ns: f64,
}

/// What happened in steps of the loop that are no gap.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct BelowThreshold {
    /// Events by source.
    pub events: BTreeMap<Source, u64>,
    /// Their time, ns.
    pub net_ns: u64,
}

/// A task that ran in the loop's place.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskNoise {
    /// Thread.
    pub tid: u32,
    /// Process.
    pub pid: u32,
    /// Name.
    pub comm: String,
    /// For how long the loop waited for it, ns.
    pub took_ns: u64,
}

/// The line of a device.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineNoise {
    /// Number.
    pub irq: u32,
    /// What hangs on it.
    pub name: Option<String>,
    /// Interrupts while the CPU was measured.
    pub count: u64,
    /// Time of their handlers, ns.
    pub net_ns: u64,
}

/// What the loop costs itself: how fine it sees.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct LoopCost {
    /// Median time between two readings of the clock, before the window, ns.
    pub step_ns: u64,
    /// The shortest, ns.
    pub shortest_step_ns: u64,
    /// Mean over the window without its gaps, ns.
    pub mean_step_ns: f64,
    /// What keeping a gap takes as a rule, ns.
    pub keeping_ns: u64,
    /// What keeping all gaps took, ns: up to 10 us after a gap in which the kernel counts nothing are the loop's own, and no gap.
    pub kept_ns: u64,
}

/// Parts of the window, of equal length.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Series {
    /// Length of a part, s.
    pub bin_s: f64,
    /// Time in gaps, ns.
    pub gap_ns: Vec<u64>,
    /// The longest gap that began in it, ns.
    pub longest_ns: Vec<u64>,
}

/// A step of the distribution.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Step {
    /// Shortest and longest length in it, ns.
    pub from_ns: u64,
    #[allow(missing_docs)]
    pub to_ns: u64,
    /// How many gaps.
    pub gaps: u64,
}

/// One of the longest gaps.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LongGap {
    /// When it began, s from the begin of the window.
    pub at_s: f64,
    /// Its length, ns.
    pub length_ns: u64,
    /// What it is made of, most time first: cause, events, own time.
    pub parts: Vec<GapPart>,
    /// What its events leave over: entry and exit, ns.
    pub entry_and_exit_ns: u64,
}

/// A part of one gap.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct GapPart {
    /// The cause.
    pub cause: Cause,
    /// Its events inside.
    pub events: u64,
    /// Its own time, ns.
    pub net_ns: u64,
}
