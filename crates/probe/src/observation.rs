//! What probes saw in a window: per-CPU counter differences and what the watched threads did.

use std::collections::BTreeMap;

use machine::Missing;
use serde::{Deserialize, Serialize};

use crate::changed_cpu::ChangedCpu;
use crate::party::Party;

/// One counter over the window, by CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Counter {
    /// Probe that read it: `interrupts`, `softirqs`, `stat`, `pressure`.
    pub probe: String,
    /// Row name: an IRQ number (`85`) or the kernel's abbreviation (`LOC`, `CAL`); `NET_RX`; `softirq`, `steal`, ...
    pub name: String,
    /// What the kernel calls it: `p7p1-rx-0`, `Local timer interrupts`; empty when the name says it all.
    pub label: String,
    /// Unit of the differences: `events`, `us`.
    pub unit: String,
    /// Difference over the window by CPU number; CPUs that were offline at either end are absent, not 0.
    pub by_cpu: BTreeMap<u32, u64>,
}

/// One counter of the whole system over the window: it has no CPU.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SystemCounter {
    /// Probe that read it: `pressure`, `stat`, `interrupts`.
    pub probe: String,
    /// Row name: `cpu some`, `ctxt`, `ERR`.
    pub name: String,
    /// What it is in words; empty when the name says it all.
    pub label: String,
    /// Unit of the difference: `events`, `us`.
    pub unit: String,
    /// Difference over the window. Always there for a row that was read at both ends: 0 means that it stood still.
    pub value: u64,
}

/// A quantity that goes up and down, over the window, by CPU.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Gauge {
    /// Probe that read it: `cpufreq`.
    pub probe: String,
    /// Row name: `scaling_cur_freq`.
    pub name: String,
    /// What it is in words; empty when the name says it all.
    pub label: String,
    /// Unit of the values: `kHz`.
    pub unit: String,
    /// Lowest, mean and highest reading at the sampling instants, by CPU.
    pub by_cpu: BTreeMap<u32, Spread>,
}

/// Readings of one gauge on one CPU.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Spread {
    /// Lowest reading.
    pub min: u64,
    /// Mean of the readings, each weighing the same.
    pub mean: f64,
    /// Highest reading.
    pub max: u64,
}

/// What one watched thread did in the window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct ThreadSeen {
    /// Thread number.
    pub tid: u32,
    /// Process number.
    pub pid: u32,
    /// Name (`comm`), as last seen.
    pub comm: String,
    /// User CPU time, us (/proc/PID/task/TID/stat field 14, tick resolution).
    pub user_us: Option<u64>,
    /// Kernel CPU time, us (field 15).
    pub system_us: Option<u64>,
    /// Time on CPU, us (schedstat field 1).
    pub on_cpu_us: Option<u64>,
    /// Time runnable but waiting for a CPU, us (schedstat field 2).
    pub waited_us: Option<u64>,
    /// Voluntary context switches (status).
    pub voluntary_switches: Option<u64>,
    /// Involuntary context switches (status).
    pub involuntary_switches: Option<u64>,
    /// Migrations between CPUs (sched `se.nr_migrations`).
    pub migrations: Option<u64>,
    /// How often it was seen on each CPU at the sampling instants (stat field 39).
    pub seen_on: BTreeMap<u32, u64>,
    /// Where it was allowed to run at the last sample (status `Cpus_allowed_list`), list form.
    pub allowed: Option<String>,
}

/// What a process tree beside the server did in the window.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct TreeSeen {
    /// Its threads; a process that lived for less than a sampling interval may not be here.
    pub threads: Vec<ThreadSeen>,
    /// How long it was followed within the window, us: from the start of the window, or its own, to the last sample that has it.
    pub followed_us: u64,
}

/// A CPU quota over the window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct QuotaSeen {
    /// Whose cgroup, or a cgroup above theirs, it is.
    pub party: Party,
    /// The cgroup, as a path below its hierarchy.
    pub cgroup: String,
    /// What it allows, in CPUs.
    pub cpus: f64,
    /// Periods of the quota in which the cgroup had something to run.
    pub periods: u64,
    /// Periods in which the quota ran out.
    pub throttled_periods: u64,
    /// Time throttled, summed over CPUs, us.
    pub throttled_us: u64,
}

/// One instant: raw counter readings, not differences.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Sample {
    /// CLOCK_MONOTONIC, ns.
    pub at_ns: u64,
    /// How long taking this sample lasted, ns.
    pub took_ns: u64,
    /// Readings: (probe, row) -> CPU -> value since boot.
    pub rows: BTreeMap<String, BTreeMap<String, BTreeMap<u32, u64>>>,
}

/// Everything that was seen between two instants.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Observation {
    /// Start of the window, CLOCK_MONOTONIC ns.
    pub from_ns: u64,
    /// End of the window, CLOCK_MONOTONIC ns.
    pub to_ns: u64,
    /// Samples inside the window, both ends included.
    pub samples: usize,
    /// Share of one CPU's time that sampling itself took, 0 to 1.
    pub sampling_share: f64,
    /// Counters that moved, in probe and row order. A row that exists and did not move is absent here and listed in `still`.
    pub counters: Vec<Counter>,
    /// Rows that were read and did not move, as `probe/name`: known to be zero, which is not the same as missing.
    pub still: Vec<String>,
    /// Counters of the whole system (PSI, context switches); a 0 was read, what could not be read is not here.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub system: Vec<SystemCounter>,
    /// Quantities that go up and down (frequency).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub gauges: Vec<Gauge>,
    /// Sampling instants that were passed over because the sampler was late (it does not catch up in a burst).
    #[serde(default)]
    pub missed_deadlines: u64,
    /// The watched threads; ended threads keep what was last seen.
    pub threads: Vec<ThreadSeen>,
    /// The process trees that were followed beside the server's.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub beside: BTreeMap<Party, TreeSeen>,
    /// The CPU quotas that server and load were under, of each the outermost first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quotas: Vec<QuotaSeen>,
    /// CPUs that went offline or came online between two samples, by number; how long they were offline is known to within the time between
    /// two samples.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changed_cpus: Vec<ChangedCpu>,
    /// What could not be read, and why.
    pub missing: Vec<Missing>,
}

impl Observation {
    /// Length of the window in seconds.
    pub fn window_s(&self) -> f64 {
        self.to_ns.saturating_sub(self.from_ns) as f64 / 1e9
    }

    /// Share of the window in which a CPU was online, 0 to 1. Counters stand still for the rest.
    pub fn online_share(&self, cpu: u32) -> f64 {
        let changed = self.changed_cpus.iter().find(|changed| changed.cpu == cpu && changed.wall_ns > 0);
        let offline = changed.map_or(0.0, |changed| changed.offline_ns as f64 / changed.wall_ns as f64);
        (1.0 - offline).clamp(0.0, 1.0)
    }

    /// A counter by probe and row name, if it moved.
    pub fn counter(&self, probe: &str, name: &str) -> Option<&Counter> {
        self.counters.iter().find(|c| c.probe == probe && c.name == name)
    }

    /// A counter of the whole system by probe and row name; `None` when it is not known.
    pub fn system(&self, probe: &str, name: &str) -> Option<&SystemCounter> {
        self.system.iter().find(|c| c.probe == probe && c.name == name)
    }

    /// Events (or us) a second of a counter of the whole system; `None` when it is not known.
    pub fn system_rate(&self, probe: &str, name: &str) -> Option<f64> {
        let value = self.system(probe, name)?.value;
        let window_s = self.window_s();
        (window_s > 0.0).then(|| value as f64 / window_s)
    }

    /// Events (or us) a second of a row on one CPU; `Some(0.0)` when the row was read and stood still, `None` when it is not known.
    pub fn rate(&self, probe: &str, name: &str, cpu: u32) -> Option<f64> {
        let window_s = self.window_s();
        if window_s <= 0.0 {
            return None;
        }
        match self.counter(probe, name) {
            Some(counter) => counter.by_cpu.get(&cpu).map(|n| *n as f64 / window_s),
            None => self.still.iter().any(|s| *s == format!("{probe}/{name}")).then_some(0.0),
        }
    }
}
