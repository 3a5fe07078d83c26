//! The recording as short intervals, one JSON line each: what moved, when.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::sync::Arc;

use machine::ThreadRef;
use serde::{Deserialize, Serialize};

use super::{Frame, Recording};
use crate::rows::SYSTEM;

/// The first line of a series: what the rows are.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesHead {
    /// Version of the form, 1.
    pub version: u32,
    /// Number of intervals that follow.
    pub intervals: usize,
    /// The rows by their key in the intervals, `probe/name`.
    pub rows: BTreeMap<String, SeriesRow>,
}

/// What a row of a series is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SeriesRow {
    /// What the kernel calls it; several, separated by ` | `, if an IRQ number changed hands.
    pub label: String,
    /// Unit of the differences.
    pub unit: String,
}

/// What moved between two samples.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Interval {
    /// Start: the middle of the earlier sample, CLOCK_MONOTONIC ns.
    pub from_ns: u64,
    /// End: the middle of the later sample, CLOCK_MONOTONIC ns.
    pub to_ns: u64,
    /// How long the later sample lasted, ns.
    pub took_ns: u64,
    /// Deadlines passed over before the later sample.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub missed: u64,
    /// Differences by row (`probe/name`) and CPU; only cells that moved.
    pub counters: BTreeMap<String, BTreeMap<u32, i64>>,
    /// Differences of rows that have no CPU; only those that moved.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub system: BTreeMap<String, i64>,
    /// Readings of gauges at the end of the interval.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub gauges: BTreeMap<String, BTreeMap<u32, u64>>,
    /// The same of quantities that have no CPU.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub system_gauges: BTreeMap<String, u64>,
    /// Rows of which a count began again in this interval and is not known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub restarted: Vec<String>,
    /// Watched threads that ran, by thread number.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub threads: BTreeMap<u32, ThreadStep>,
}

/// What one thread did in an interval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct ThreadStep {
    /// CPU that it last ran on.
    pub cpu: Option<u32>,
    /// Time on a CPU, us.
    pub on_cpu_us: Option<u64>,
    /// Time runnable and waiting, us.
    pub waited_us: Option<u64>,
}

fn is_zero(n: &u64) -> bool {
    *n == 0
}

impl Recording {
    /// What the rows of [`Recording::series`] are.
    pub fn series_head(&self) -> SeriesHead {
        let mut rows: BTreeMap<String, SeriesRow> = BTreeMap::new();
        for head in &self.heads {
            let label = head.label.clone();
            match rows.get_mut(&head.key()) {
                Some(row) => row.label = format!("{} | {label}", row.label),
                None => drop(rows.insert(head.key(), SeriesRow { label, unit: head.unit.to_string() })),
            }
        }
        SeriesHead { version: 1, intervals: self.frames.len().saturating_sub(1), rows }
    }

    /// The intervals between samples in order of time.
    pub fn series(&self) -> impl Iterator<Item = Interval> + '_ {
        self.frames.windows(2).map(|pair| self.interval(&pair[0], &pair[1]))
    }

    /// Writes the series as JSON lines: first the [`SeriesHead`], then each [`Interval`].
    pub fn write_series(&self, to: &mut impl Write) -> io::Result<()> {
        serde_json::to_writer(&mut *to, &self.series_head())?;
        to.write_all(b"\n")?;
        for interval in self.series() {
            serde_json::to_writer(&mut *to, &interval)?;
            to.write_all(b"\n")?;
        }
        Ok(())
    }

    fn interval(&self, before: &Frame, after: &Frame) -> Interval {
        let mut interval = Interval {
            from_ns: before.middle_ns(),
            to_ns: after.middle_ns(),
            took_ns: after.took_ns,
            missed: after.missed,
            threads: thread_steps(before, after),
            ..Interval::default()
        };
        let key = |row: u32| self.heads.get(row as usize).map(|head| head.key()).unwrap_or_default();
        for cell in &after.moved {
            match cell.cpu {
                SYSTEM => drop(interval.system.insert(key(cell.row), cell.delta)),
                cpu => drop(interval.counters.entry(key(cell.row)).or_default().insert(cpu, cell.delta)),
            }
        }
        for (row, cpu, value) in &after.gauges {
            match *cpu {
                SYSTEM => drop(interval.system_gauges.insert(key(*row), *value)),
                cpu => drop(interval.gauges.entry(key(*row)).or_default().insert(cpu, *value)),
            }
        }
        interval.restarted = after.restarted.iter().map(|(row, _)| key(*row)).collect();
        interval.restarted.dedup();
        interval
    }
}

fn thread_steps(before: &Frame, after: &Frame) -> BTreeMap<u32, ThreadStep> {
    let known: BTreeMap<ThreadRef, _> =
        before.threads.iter().map(|reading| (reading.thread, reading)).collect();
    let step = |reading: &Arc<crate::thread_reading::ThreadReading>| {
        let old = known.get(&reading.thread)?;
        let us = |new: Option<u64>, old: Option<u64>| Some(new?.checked_sub(old?)? / 1_000);
        let step = ThreadStep {
            cpu: reading.processor,
            on_cpu_us: us(reading.on_cpu_ns, old.on_cpu_ns),
            waited_us: us(reading.waited_ns, old.waited_ns),
        };
        // A shared reading is one of a thread that did not run.
        (!Arc::ptr_eq(reading, old)).then_some((reading.thread.tid, step))
    };
    after.threads.iter().filter_map(step).collect()
}
