//! How often the timer interrupted each CPU in a window, and where the tick did not stop, why.
//!
//! Counts are differences of row LOC of /proc/interrupts, which has every interrupt of a CPU's own timer: the tick, and timers
//! that tasks have set. How busy the CPU was comes from /proc/stat, so that few ticks because it was idle are distinguished from
//! few ticks while it was spinning. Reasons are the kernel's own word: tracepoint timer:tick_stop, counted by the
//! kernel with a histogram trigger, so that no event is recorded and none is read.
//!
//! That makes this the one place in the crate that writes: it makes an instance of tracefs named `pinwise-PID-N`, and
//! removes it when the window ends, also in a panic. That is tracing and no setting of the machine: the tick and all else
//! behave as before. A process that is killed leaves its instance behind, and the kernel goes on counting in it; the
//! next window that anybody begins removes it.

mod dependency;
mod hist;
mod instance;
mod stops;
mod verdict;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use machine::kernel::Kernel;
use machine::{CpuSet, Missing, Root};
use serde::{Deserialize, Serialize};

use crate::meter::{Meter, Reading};
use crate::online::{online, online_to_compare};

pub use dependency::TickDependency;
pub use hist::{TickStop, TickStops, parse as parse_hist};
pub use verdict::{Verdict, judge, words};

/// The fact that is missing where reasons could not be counted.
const REASONS: &str = "why ticks did not stop";

/// Rows of /proc/interrupts and /proc/stat that are looked at. Where a kernel does not count iowait separately, it is in idle.
const LOCAL_TIMER: Row = ("interrupts", "LOC");
const IDLE: Row = ("stat", "idle");
const IOWAIT: Row = ("stat", "iowait");

/// Probe and name.
type Row = (&'static str, &'static str);

/// A window in which ticks are counted.
pub struct TickWindow {
    meter: Meter,
    cpus: CpuSet,
    nohz_full: Option<CpuSet>,
    hz: Option<u32>,
    stops: Result<stops::StopCounter, Missing>,
    /// CPUs for which each row had a value at the start.
    present: BTreeMap<Row, BTreeSet<u32>>,
    root: Arc<Root>,
    /// Those that were found offline in the window.
    away: BTreeSet<u32>,
}

/// What was seen in a window.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TicksSeen {
    /// Length of the window, s.
    pub window_s: f64,
    /// Ticks a second of a busy CPU (CONFIG_HZ).
    pub hz: Option<u32>,
    /// The CPUs that were asked for, by number.
    pub cpus: Vec<CpuSeen>,
    /// What could not be had, and why.
    pub missing: Vec<Missing>,
}

/// One CPU and what its ticks mean.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct CpuSeen {
    /// The figures.
    #[serde(flatten)]
    pub ticks: CpuTicks,
    /// What they mean.
    pub verdict: Verdict,
    /// The same in words.
    pub words: String,
}

/// Figures of one CPU over a window; `None` is not known.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct CpuTicks {
    /// The CPU.
    pub cpu: u32,
    /// Interrupts of its local timer.
    pub ticks: Option<u64>,
    /// The same a second.
    pub ticks_per_s: Option<f64>,
    /// Share of the window in which it was not idle, 0 to 1. Time that a hypervisor took away counts as busy. Resolution
    /// is 10 ms.
    pub busy: Option<f64>,
    /// Whether it is in nohz_full.
    pub nohz_full: Option<bool>,
    /// How often the kernel stopped its tick; `None` where that was not counted.
    pub stopped: Option<u64>,
    /// Why the kernel did not stop its tick, most frequent first; `None` where that was not counted. The kernel looks whenever
    /// an interrupt ends, so these are more than the ticks.
    pub kept: Option<Vec<KeptFor>>,
}

/// A reason that kept the tick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeptFor {
    /// The kernel's word.
    pub dependency: TickDependency,
    /// How often the kernel found it.
    pub times: u64,
}

impl TickWindow {
    /// Begins a window on `cpus`. `kernel` has the tick rate and which CPUs are in nohz_full. Reasons are counted on the
    /// running system only.
    ///
    /// Never fails: what cannot be had is in [`TicksSeen::missing`].
    pub fn begin(root: impl Into<Arc<Root>>, cpus: CpuSet, kernel: &Kernel) -> Self {
        let root: Arc<Root> = root.into();
        let stops = match root.is_live() {
            true => stops::StopCounter::begin(online(&root).map_or(0, |cpus| cpus.len()).max(cpus.len())),
            false => Err(Missing::new(root.origin(), "events can be counted on the running system only")),
        };
        let mut meter = Meter::new(Arc::clone(&root), &["interrupts", "stat"]);
        let present = present(&meter.read());
        let (nohz_full, away) = (kernel.nohz_full.clone(), BTreeSet::new());
        Self { meter, cpus, nohz_full, hz: kernel.hz, stops, present, root, away }
    }

    /// Looks which CPUs are online. To be called some ten times a second: the counts of one that goes and comes back go on as if nothing had
    /// been.
    pub fn look(&mut self) {
        if let Ok(online) = online_to_compare(&self.root) {
            self.away.extend(self.cpus.difference(&online).iter());
        }
    }

    /// Ends it.
    pub fn end(mut self) -> TicksSeen {
        let reading = self.meter.read();
        let (before, after) = (self.present, present(&reading));
        let ends = Ends { before, after, moved: moved(&reading), away: self.away };
        let window_ns = reading.since_ns().unwrap_or(0);
        let mut missing: Vec<Missing> = reading.missing().cloned().collect();
        let stops = known(self.stops.and_then(|counter| counter.read()), &mut missing);
        let mut cpus = Vec::new();
        for cpu in self.cpus.iter() {
            let nohz_full = self.nohz_full.as_ref().map(|set| set.contains(cpu));
            let mut ticks = CpuTicks { cpu, nohz_full, ..CpuTicks::default() };
            missing.extend(ends.count(window_ns, &mut ticks));
            if let Some(stops) = &stops {
                reasons(stops, &mut ticks);
            }
            let verdict = judge(&ticks, self.hz);
            cpus.push(CpuSeen { words: words(verdict, &ticks), verdict, ticks });
        }
        TicksSeen { window_s: window_ns as f64 / 1e9, hz: self.hz, cpus, missing }
    }
}

/// What the kernel counted; what it did not goes to `missing`.
fn known(stops: Result<TickStops, Missing>, missing: &mut Vec<Missing>) -> Option<TickStops> {
    match &stops {
        Ok(TickStops { dropped: 0, .. }) => {}
        Ok(TickStops { dropped, .. }) => {
            let why = format_args!("the kernel's table was full: {dropped} answers are left out");
            missing.push(Missing::new(REASONS, why));
        }
        Err(why) => missing.push(Missing::new(REASONS, format_args!("{}: {}", why.fact, why.why))),
    }
    stops.ok()
}

/// Both ends of a window.
struct Ends {
    before: BTreeMap<Row, BTreeSet<u32>>,
    after: BTreeMap<Row, BTreeSet<u32>>,
    moved: BTreeMap<(Row, u32), Option<i64>>,
    away: BTreeSet<u32>,
}

impl Ends {
    /// Fills in the counts of a CPU; what is missing, and why.
    fn count(&self, window_ns: u64, into: &mut CpuTicks) -> Vec<Missing> {
        let cpu = into.cpu;
        let mut missing = Vec::new();
        let mut kept = |fact: &str, result: Result<i64, &str>| {
            result.map_err(|why| missing.push(Missing::new(format_args!("{fact} of CPU {cpu}"), why))).ok()
        };
        let ticks = kept("ticks", self.delta(LOCAL_TIMER, cpu)).and_then(|ticks| u64::try_from(ticks).ok());
        let idle_us = kept("idle time", self.delta(IDLE, cpu));
        let idle_us = idle_us.map(|idle| idle + self.delta(IOWAIT, cpu).unwrap_or(0));
        into.ticks = ticks;
        if window_ns > 0 {
            into.ticks_per_s = ticks.map(|ticks| ticks as f64 * 1e9 / window_ns as f64);
            into.busy = idle_us.map(|idle| (1.0 - idle as f64 * 1e3 / window_ns as f64).clamp(0.0, 1.0));
        }
        missing
    }

    /// How far a row moved, or why that is not known.
    fn delta(&self, row: Row, cpu: u32) -> Result<i64, &'static str> {
        let (Some(before), Some(after)) = (self.before.get(&row), self.after.get(&row)) else {
            return Err(match row {
                LOCAL_TIMER => "there is no row LOC of /proc/interrupts (arm64 has none)",
                _ => "it is not in /proc/stat",
            });
        };
        if self.away.contains(&cpu) {
            return Err("the CPU was offline for a part of the window");
        }
        match before.contains(&cpu) && after.contains(&cpu) {
            true => self.moved.get(&(row, cpu)).copied().unwrap_or(Some(0)).ok_or("its count began again"),
            false => Err("the CPU was not online at both ends of the window"),
        }
    }
}

/// The row if it is one of those that are looked at.
fn wanted(probe: &str, name: &str) -> Option<Row> {
    [LOCAL_TIMER, IDLE, IOWAIT].into_iter().find(|row| *row == (probe, name))
}

fn present(reading: &Reading<'_>) -> BTreeMap<Row, BTreeSet<u32>> {
    let rows = reading.rows().filter_map(|now| Some((wanted(now.row.probe, now.row.name)?, now.cpus)));
    rows.map(|(row, cpus)| (row, cpus.iter().copied().collect())).collect()
}

/// How far each cell moved; `None` for one that began again.
fn moved(reading: &Reading<'_>) -> BTreeMap<(Row, u32), Option<i64>> {
    let moved = reading.moved().map(|cell| (cell.row, cell.cpu, Some(cell.delta)));
    let restarted = reading.restarted().map(|(row, cpu)| (row, cpu, None));
    moved
        .chain(restarted)
        .filter_map(|(row, cpu, delta)| Some(((wanted(row.probe, row.name)?, cpu?), delta)))
        .collect()
}

/// Fills in how often the tick of a CPU was stopped, and what kept it.
fn reasons(stops: &TickStops, into: &mut CpuTicks) {
    let of_cpu = stops.entries.iter().filter(|entry| entry.cpu == into.cpu);
    let (mut stopped, mut kept) = (0, BTreeMap::new());
    for entry in of_cpu {
        match TickDependency::from_mask(entry.dependency).filter(|_| !entry.stopped) {
            Some(dependency) => *kept.entry(dependency).or_insert(0) += entry.times,
            None => stopped += u64::from(entry.stopped) * entry.times,
        }
    }
    let mut kept: Vec<KeptFor> =
        kept.into_iter().map(|(dependency, times)| KeptFor { dependency, times }).collect();
    kept.sort_by_key(|kept| std::cmp::Reverse(kept.times));
    (into.stopped, into.kept) = (Some(stopped), Some(kept));
}

/// For people: a line a CPU.
impl fmt::Display for TicksSeen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let hz = self.hz.map_or("an unknown number of".to_string(), |hz| hz.to_string());
        writeln!(f, "{:.1} s; a busy CPU has {hz} ticks a second unless its tick is stopped", self.window_s)?;
        for seen in &self.cpus {
            let rate = seen.ticks.ticks_per_s.map_or("?".to_string(), |rate| format!("{rate:.1}"));
            let busy = seen.ticks.busy.map_or("?".to_string(), |busy| format!("{:.0}", busy * 100.0));
            writeln!(f, "CPU {:<4} {rate:>7} ticks/s  busy {busy:>3} %  {}", seen.ticks.cpu, seen.words)?;
        }
        self.missing
            .iter()
            .try_for_each(|missing| writeln!(f, "not known: {}: {}", missing.fact, missing.why))
    }
}

#[cfg(test)]
mod tests;
