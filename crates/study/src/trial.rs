//! One finished trial: the line that is appended to `trials.jsonl`.

use std::collections::BTreeMap;

use load::Headroom;
use load::guard::Breach;
use load::outcome::traffic::Traffic;
use machine::{CpuSet, Missing};
use serde::{Deserialize, Serialize};

use crate::boots::Booted;
use crate::cliff::Cliff;
use crate::statistics::stalls::Stall;

/// How the start of the run was cut off.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct WarmUp {
    /// Seconds left out at the start of the run; `None` when it is not known (the load tool gives one figure only).
    pub left_out_s: Option<f64>,
    /// Whether the cap was reached: the run may not have been warm yet.
    pub capped: bool,
    /// How it was found, or why it could not be.
    pub how: String,
}

/// What was really so during the measured window. A wish is not a fact.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct AsRun {
    /// Share of the sampling instants at which a running server thread was on each CPU, weighted by its CPU time; sums to 1.
    pub server_cpus_used: BTreeMap<u32, f64>,
    /// Where the server's threads were allowed to run at the end (union over threads).
    pub server_allowed: Option<CpuSet>,
    /// The same for the load generator.
    pub load_allowed: Option<CpuSet>,
    /// Migrations of the server's threads in the window.
    pub server_migrations: Option<u64>,
    /// Involuntary context switches of the server's threads in the window.
    pub server_involuntary_switches: Option<u64>,
    /// Time that the server's threads waited for a CPU while runnable, share of the window.
    pub server_waited_share: Option<f64>,
    /// CPU time of anything but the server, the dose and the recipe's neighbours, in CPUs; the load is in it. Other load on the
    /// machine is what this is above [`load_busy_cpus`](Self::load_busy_cpus).
    pub others_busy_cpus: Option<f64>,
    /// CPU time in user space of programs that are neither server, load, dose, nor neighbours of the recipe, in CPUs.
    #[serde(default)]
    pub others_user_cpus: Option<f64>,
    /// Steal over all CPUs, share of their time.
    pub steal_share: Option<f64>,
    /// Energy by zone (`intel-rapl:0:1 dram`) over the measured window, J; zones overlap. Empty where none is counted.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub energy_by_zone_j: BTreeMap<String, f64>,
    /// How many settings of the placement read back otherwise than asked, in words.
    pub not_as_asked: Vec<String>,
    /// How much of the window the server's busiest thread (by CPU time) wanted a CPU.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_demand: Option<Demand>,
    /// CPU time of all threads of the server, in CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_busy_cpus: Option<f64>,
    /// How many CPUs the server may use: as many as its threads are allowed on and are online, or what its quota allows where that is less.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_may_use_cpus: Option<f64>,
    /// How much of the window the busiest thread of the load wanted a CPU: of our own process for the drivers, of its process tree for a
    /// command.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_demand: Option<Demand>,
    /// CPU time of all threads of the load, in CPUs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_busy_cpus: Option<f64>,
    /// The server's cgroup and those above it that have a quota, outermost first, and what they were throttled in the window.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub server_quotas: Vec<Quota>,
    /// The same of the load.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub load_quotas: Vec<Quota>,
    /// The server did not run where its arm says; `None` when it did, and when that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub misplaced: Option<Misplaced>,
    /// Share of each of its CPUs that the thief of the dose took in the window, by the kernel's account of its threads.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dose_taken_share: Option<f64>,
}

impl AsRun {
    /// Share of the window in which the server's busiest thread had a CPU or waited for one.
    pub fn server_wanted_share(&self) -> Option<f64> {
        self.server_demand.map(|demand| demand.wanted_share())
    }

    /// How near the server was to its limit, 0 to 1: how much of the window its busiest thread had or wanted a CPU, or how much of the
    /// CPUs that it may use all its threads used, whichever is more. Threads of which none is busy can fill their CPUs together.
    pub fn server_busy_share(&self) -> Option<f64> {
        let most = self.server_may_use_cpus.filter(|cpus| *cpus > 0.0);
        let of_all = self.server_busy_cpus.zip(most).map(|(used, most)| (used / most).min(1.0));
        match (self.server_wanted_share(), of_all) {
            (Some(busiest), Some(of_all)) => Some(busiest.max(of_all)),
            (busiest, of_all) => busiest.or(of_all),
        }
    }
}

/// How much of a window one thread wanted a CPU: had one, or waited for one. Shares of the window, 0 to 1.
///
/// Source: /proc/PID/task/TID/schedstat (time on a CPU, time on a run queue). Interrupts are charged to the thread that they
/// interrupt on kernels without IRQ_TIME_ACCOUNTING.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Demand {
    /// Share of the window on a CPU.
    pub on_cpu_share: f64,
    /// Share of the window runnable and waiting for a CPU; `None` on kernels that do not report it.
    pub waited_share: Option<f64>,
}

impl Demand {
    /// On a CPU or waiting for one, share of the window.
    pub fn wanted_share(self) -> f64 {
        (self.on_cpu_share + self.waited_share.unwrap_or(0.0)).min(1.0)
    }
}

/// A CPU quota of one cgroup over a window.
///
/// Source: `cpu.max` and `cpu.stat` (v2), `cpu.cfs_quota_us`, `cpu.cfs_period_us` and `cpu.stat` (v1).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Quota {
    /// The cgroup, as a path below its hierarchy.
    pub cgroup: String,
    /// What it allows, in CPUs.
    pub cpus: f64,
    /// Periods of the quota that had something to run.
    pub periods: u64,
    /// Periods in which it ran out.
    pub throttled_periods: u64,
    /// Time throttled, summed over CPUs, us.
    pub throttled_us: u64,
}

/// Where the server ran instead of where its arm says. Threads that hardly use a CPU (below 1 % of the server's time) are no evidence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "kebab-case")]
pub enum Misplaced {
    /// It spent time on CPUs that were not asked for.
    Elsewhere {
        /// CPUs that the arm asks for.
        asked: CpuSet,
        /// CPUs on which it was seen.
        ran_on: CpuSet,
    },
    /// It ran where asked, and may run elsewhere: it set its own affinity, or something else did.
    Wider {
        /// CPUs that the arm asks for.
        asked: CpuSet,
        /// CPUs that it may use.
        allowed: CpuSet,
    },
    /// It keeps to a part of what was asked, or, of an arm that leaves it unpinned, of what it was given.
    Narrower {
        /// CPUs that the arm gives it.
        given: CpuSet,
        /// CPUs that it may use.
        allowed: CpuSet,
    },
}

impl Misplaced {
    /// More than this share of the server's CPU time on CPUs that were not asked for is no accident of sampling.
    pub const MOST_ELSEWHERE: f64 = 0.05;
}

/// How long the parts of a trial took, s; what is left of `took_s` is pinwise's own.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Parts {
    /// From the start of the server to the moment when it was ready.
    pub server_start_s: f64,
    /// The load, from its start to its end as it reports them itself.
    pub load_s: f64,
    /// The end of the server.
    pub server_stop_s: f64,
}

/// What the intervals of one run say of its own mean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Within {
    /// Intervals of the measured window.
    pub intervals: usize,
    /// Standard error of the run's mean rate as a share of it, by batch means; `None` where the run is too short to tell.
    pub error_share: Option<f64>,
    /// How many times its rate changed for good, in its level or spread.
    pub changes: usize,
    /// Length of an interval, s; 0 in trials of before 2026-11-26, whose stalls are not known.
    #[serde(default)]
    pub step_s: f64,
    /// Intervals in which much less was completed than usual.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stalls: Vec<Stall>,
}

/// One run of the workload under one placement.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Trial {
    /// Number in order of time, from 0; names the folder `trials/0007`.
    pub index: usize,
    /// Block, from 0.
    pub block: usize,
    /// Position within the block, from 0.
    pub position: usize,
    /// How many trials of the same position there were before: those were disturbed or failed.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub attempt: usize,
    /// Why it counts as disturbed by what is neither server nor load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disturbed: Option<String>,
    /// Why it failed: then it has no figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<String>,
    /// No request was answered in the measured window: a finding about its arm, and no figure to compare. Under a server's own traffic
    /// only where the baseline had many.
    #[serde(default, skip_serializing_if = "is_false")]
    pub starved: bool,
    /// The arm, by name.
    pub arm: String,
    /// The boot that it ran in; `None` of one that ran under no kernel, and where that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boot: Option<Booted>,
    /// When it began, seconds since 1970 (UTC).
    pub began_unix_s: f64,
    /// How long it took with start and stop of the server, s.
    pub took_s: f64,
    /// Its parts; `None` of a trial that failed, and of one that was not run live.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parts: Option<Parts>,
    /// What its intervals say; `None` where the load reports only its final figure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub within: Option<Within>,
    /// What a guard ended it for, and by what: it was cut short, and its figures are in no comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub breach: Option<Breach>,
    /// The server's own traffic during the whole run, without its slices, which outcome.json has; `None` of a load that pinwise drives.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub traffic: Option<Traffic>,
    /// Where its sequence of operations breaks; `None` of a load that is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cliff: Option<Cliff>,
    /// Start of the measured window, CLOCK_MONOTONIC ns.
    pub from_ns: u64,
    /// End of the measured window, CLOCK_MONOTONIC ns.
    pub to_ns: u64,
    /// Length of the measured window, s.
    pub window_s: f64,
    /// Figures by name over the measured window.
    pub figures: BTreeMap<String, f64>,
    /// Units by figure name, where known.
    pub units: BTreeMap<String, String>,
    /// The cut at the start.
    pub warm_up: WarmUp,
    /// Whether the load generator had room left.
    pub headroom: Option<Headroom>,
    /// What was really so.
    pub as_run: AsRun,
    /// What could not be measured, and why.
    pub missing: Vec<Missing>,
}

fn is_false(flag: &bool) -> bool {
    !flag
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_threads_of_little_share_fill_a_cpu_together() {
        let seen = |on_cpu_share, used, most| AsRun {
            server_demand: Some(Demand { on_cpu_share, waited_share: Some(0.0) }),
            server_busy_cpus: used,
            server_may_use_cpus: most,
            ..AsRun::default()
        };
        assert_eq!(seen(0.06, Some(0.96), Some(1.0)).server_busy_share(), Some(0.96));
        assert_eq!(seen(0.12, Some(1.4), Some(2.0)).server_busy_share(), Some(0.7));
        assert_eq!(seen(0.97, Some(0.97), Some(8.0)).server_busy_share(), Some(0.97), "one thread is full");
        assert_eq!(seen(0.97, Some(1.0), Some(0.0)).server_busy_share(), Some(0.97), "no number of CPUs");
        assert_eq!(seen(0.3, None, Some(2.0)).server_busy_share(), Some(0.3));
        assert_eq!(AsRun::default().server_busy_share(), None);
    }
}
