//! Differences between two instants of a recording.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use machine::{CpuSet, FactId, Missing, Notes};

use super::{Frame, Layout, Recording};
use crate::changed_cpu::ChangedCpu;
use crate::observation::{Counter, Gauge, Observation, Spread, SystemCounter};
use crate::rows::{Columns, Kind, SYSTEM, of_probe};

impl Recording {
    /// What happened between two instants (CLOCK_MONOTONIC ns): differences between the last sample that ended at or
    /// before `from_ns` and the first that began at or after `to_ns`.
    ///
    /// `from_ns` and `to_ns` of the answer are the instants for which those samples stand (their middles), so that rates
    /// are right. Where the recording does not reach that far, its nearest sample is taken and `missing` says so. A
    /// counter that cannot be known (its row or CPU came or went, it began again) is left out and named in `missing`.
    pub fn window(&self, from_ns: u64, to_ns: u64) -> Observation {
        let mut notes = Notes::new();
        let Some((first, last)) = self.bounds(from_ns, to_ns, &mut notes) else {
            return Observation { from_ns, to_ns, missing: notes.into_vec(), ..Observation::default() };
        };
        let frames = &self.frames[first..=last];
        let mut observation = Observation {
            from_ns: self.frames[first].middle_ns(),
            to_ns: self.frames[last].middle_ns(),
            samples: frames.len(),
            missed_deadlines: frames[1..].iter().map(|frame| frame.missed).sum(),
            threads: self.threads_between(first, last),
            beside: self.trees_between(first, last),
            quotas: self.quotas_between(first, last, &mut notes),
            gauges: self.gauges(frames),
            ..Observation::default()
        };
        let cost_ns: u64 = frames[1..].iter().map(|frame| frame.cpu_ns).sum();
        let window_ns = observation.to_ns.saturating_sub(observation.from_ns);
        observation.sampling_share = if window_ns == 0 { 0.0 } else { cost_ns as f64 / window_ns as f64 };
        observation.changed_cpus = away(frames, &mut notes);
        self.counters(frames, &mut observation, &mut notes);
        observation.missing = self.noted(first, last);
        observation.missing.extend(notes.into_vec());
        observation
    }

    /// The frames at both ends; `None` if there are not two.
    fn bounds(&self, from_ns: u64, to_ns: u64, notes: &mut Notes) -> Option<(usize, usize)> {
        let frames = &self.frames;
        if frames.len() < 2 || from_ns >= to_ns {
            let why =
                format!("{} samples between {from_ns} and {to_ns} ns: nothing to compare", frames.len());
            notes.missing("window", why);
            return None;
        }
        let first = frames.iter().rposition(|frame| frame.end_ns() <= from_ns);
        let last = frames.iter().position(|frame| frame.at_ns >= to_ns);
        if first.is_none() {
            let late_ns = frames[0].end_ns().saturating_sub(from_ns);
            if is_worth_reporting(late_ns, to_ns - from_ns) {
                notes.missing("window start", format!("sampling began {} after it", time(late_ns)));
            }
        }
        if last.is_none() {
            let early_ns = to_ns.saturating_sub(frames[frames.len() - 1].at_ns);
            if is_worth_reporting(early_ns, to_ns - from_ns) {
                notes.missing("window end", format!("sampling ended {} before it", time(early_ns)));
            }
        }
        let (first, last) = (first.unwrap_or(0), last.unwrap_or(frames.len() - 1));
        if first >= last {
            notes.missing("window", "it lies outside of the time that was sampled");
            return None;
        }
        Some((first, last))
    }

    fn counters(&self, frames: &[Frame], observation: &mut Observation, notes: &mut Notes) {
        let sums = Sums::over(frames);
        let (before, after) = (columns_of(&frames[0].layout), columns_of(&frames[frames.len() - 1].layout));
        let mut ids: Vec<u32> =
            before.keys().chain(after.keys()).copied().collect::<HashSet<_>>().into_iter().collect();
        // Numbers are given in the order in which probes and rows were first seen.
        ids.sort_unstable();
        for id in ids {
            let Some(head) = self.heads.get(id as usize) else { continue };
            let (Some(before), Some(after)) = (before.get(&id), after.get(&id)) else {
                let what = if before.contains_key(&id) { "went away" } else { "appeared" };
                let why = format!("{} {what} within the window", row_word(&head.label));
                notes.add(of_probe(Missing::new(head.key(), why), head.probe));
                continue;
            };
            let (by_cpu, lost) = sums.of(id, before, after);
            for (why, cpus) in lost {
                notes.add(of_probe(Missing::new(cells(&head.key(), &cpus), why), head.probe));
            }
            let (probe, name, label) = (head.probe.to_string(), head.name.clone(), head.label.clone());
            let unit = head.unit.to_string();
            if before.cpus() == [SYSTEM] {
                if let Some(value) = by_cpu.get(&SYSTEM).copied() {
                    observation.system.push(SystemCounter { probe, name, label, unit, value });
                }
            } else if by_cpu.values().any(|value| *value > 0) {
                observation.counters.push(Counter { probe, name, label, unit, by_cpu });
            } else if !by_cpu.is_empty() {
                observation.still.push(head.key());
            }
        }
    }

    fn gauges(&self, frames: &[Frame]) -> Vec<Gauge> {
        let mut readings: BTreeMap<u32, BTreeMap<u32, Vec<u64>>> = BTreeMap::new();
        let of_cpus = |gauge: &&(u32, u32, u64)| gauge.1 != SYSTEM;
        for (row, cpu, value) in frames.iter().flat_map(|frame| &frame.gauges).filter(of_cpus) {
            readings.entry(*row).or_default().entry(*cpu).or_default().push(*value);
        }
        let gauge = |(row, by_cpu): (u32, BTreeMap<u32, Vec<u64>>)| {
            let head = self.heads.get(row as usize).filter(|head| head.kind == Kind::Gauge)?;
            let by_cpu =
                by_cpu.into_iter().filter_map(|(cpu, values)| Some((cpu, spread(&values)?))).collect();
            let (probe, name, label) = (head.probe.to_string(), head.name.clone(), head.label.clone());
            Some(Gauge { probe, name, label, unit: head.unit.to_string(), by_cpu })
        };
        readings.into_iter().filter_map(gauge).collect()
    }

    /// Facts that were missed in any of these frames.
    fn noted(&self, first: usize, last: usize) -> Vec<Missing> {
        let overlaps = self.notes.iter().filter(|note| note.first <= last && note.last >= first);
        overlaps.map(|note| note.missing.clone()).collect()
    }
}

/// Whether a part of a window that was not sampled matters: from a hundredth of it on. A reading takes some hundred us by itself, so that
/// a window that is cut to the samples always begins within one.
fn is_worth_reporting(unseen_ns: u64, window_ns: u64) -> bool {
    unseen_ns.saturating_mul(100) >= window_ns
}

fn time(ns: u64) -> String {
    if ns < 1_000_000 { format!("{} us", ns / 1_000) } else { format!("{} ms", ns / 1_000_000) }
}

/// Movements added up by cell, and the cells that began again.
struct Sums {
    moved: HashMap<(u32, u32), i64>,
    restarted: HashSet<(u32, u32)>,
}

impl Sums {
    fn over(frames: &[Frame]) -> Self {
        let mut moved = HashMap::new();
        for cell in frames[1..].iter().flat_map(|frame| &frame.moved) {
            let sum = moved.entry((cell.row, cell.cpu)).or_insert(0i64);
            // As the counters themselves, which may be forged: never a panic.
            *sum = sum.wrapping_add(cell.delta);
        }
        Self {
            moved,
            restarted: frames[1..].iter().flat_map(|frame| frame.restarted.iter().copied()).collect(),
        }
    }

    /// The differences of a row on the CPUs that were there at both ends, and the CPUs where they are not known.
    fn of(&self, row: u32, before: &Columns, after: &Columns) -> (BTreeMap<u32, u64>, Lost) {
        let there: BTreeSet<u32> = after.cpus().iter().copied().collect();
        let (mut known, mut lost) = (BTreeMap::new(), Lost::new());
        for cpu in before.cpus().iter().copied().filter(|cpu| there.contains(cpu)) {
            let sum = self.moved.get(&(row, cpu)).copied().unwrap_or(0);
            let why = match u64::try_from(sum) {
                _ if self.restarted.contains(&(row, cpu)) => "the count began again within the window",
                Ok(sum) => {
                    known.insert(cpu, sum);
                    continue;
                }
                Err(_) => "the count went backwards over the window",
            };
            lost.entry(why).or_default().push(cpu);
        }
        (known, lost)
    }
}

/// CPUs by the reason why a count is not known there.
type Lost = BTreeMap<&'static str, Vec<u32>>;

/// A part of the window in which the same CPUs were there.
struct Span {
    cpus: BTreeSet<u32>,
    from_ns: u64,
    to_ns: u64,
}

/// The parts of a window; a change between two samples is taken to be halfway. A sample in which nothing was read of any CPU says nothing.
fn spans(frames: &[Frame]) -> Vec<Span> {
    let mut spans: Vec<(&Layout, Span)> = Vec::new();
    for frame in frames {
        let (layout, at_ns) = (&*frame.layout, frame.middle_ns());
        match spans.last_mut() {
            Some((last, span)) if std::ptr::eq(*last, layout) => span.to_ns = at_ns,
            _ => {
                let cpus = cpus_of(layout);
                if !cpus.is_empty() {
                    spans.push((layout, Span { cpus, from_ns: at_ns, to_ns: at_ns }));
                }
            }
        }
    }
    let mut spans: Vec<Span> = spans.into_iter().map(|(_, span)| span).collect();
    for place in 1..spans.len() {
        let (ended_ns, began_ns) = (spans[place - 1].to_ns, spans[place].from_ns);
        let changed_ns = ended_ns + began_ns.saturating_sub(ended_ns) / 2;
        (spans[place - 1].to_ns, spans[place].from_ns) = (changed_ns, changed_ns);
    }
    spans
}

/// Names the CPUs that were not there all the time, and says how long.
fn away(frames: &[Frame], notes: &mut Notes) -> Vec<ChangedCpu> {
    let spans = spans(frames);
    let [first, .., last] = spans.as_slice() else { return Vec::new() };
    let mut all_changed = Vec::new();
    for cpu in spans.iter().flat_map(|span| &span.cpus).copied().collect::<BTreeSet<u32>>() {
        let why = match (first.cpus.contains(&cpu), last.cpus.contains(&cpu)) {
            (true, false) => "it went away within the window: its counts are not known",
            (false, true) => "it came within the window: its counts are not known",
            (false, false) => "it came and went within the window: its counts are not known",
            (true, true) if spans.iter().all(|span| span.cpus.contains(&cpu)) => continue,
            (true, true) => {
                "it was away for a part of the window: its counts and rates cover the whole of it"
            }
        };
        notes.add(Missing::new(format_args!("CPU {cpu}"), why).identified(FactId::CpuAway(cpu)));
        all_changed.push(changed(cpu, &spans));
    }
    all_changed
}

fn changed(cpu: u32, spans: &[Span]) -> ChangedCpu {
    let mut changed = ChangedCpu { cpu, offline_ns: 0, wall_ns: 0, left: 0, came: 0 };
    let mut was_there = None;
    for span in spans {
        let (is_there, ns) = (span.cpus.contains(&cpu), span.to_ns.saturating_sub(span.from_ns));
        changed.wall_ns = changed.wall_ns.saturating_add(ns);
        changed.offline_ns = changed.offline_ns.saturating_add(if is_there { 0 } else { ns });
        changed.left += u64::from(was_there == Some(true) && !is_there);
        changed.came += u64::from(was_there == Some(false) && is_there);
        was_there = Some(is_there);
    }
    changed
}

fn cpus_of(layout: &Layout) -> BTreeSet<u32> {
    let mut seen: Vec<&Columns> = Vec::new();
    for (_, columns) in &layout.rows {
        if !seen.iter().any(|known| known.same(columns)) {
            seen.push(columns);
        }
    }
    seen.into_iter().flat_map(|columns| columns.cpus()).copied().filter(|cpu| *cpu != SYSTEM).collect()
}

fn columns_of(layout: &Layout) -> HashMap<u32, &Columns> {
    layout.rows.iter().map(|(id, columns)| (*id, columns)).collect()
}

fn cells(key: &str, cpus: &[u32]) -> String {
    match cpus {
        [SYSTEM] => key.to_string(),
        _ => format!("{key} on CPU {}", cpus.iter().copied().collect::<CpuSet>()),
    }
}

fn row_word(label: &str) -> String {
    match label {
        "" => "the row".to_string(),
        _ => format!("the row of '{label}'"),
    }
}

fn spread(values: &[u64]) -> Option<Spread> {
    let (min, max) = (*values.iter().min()?, *values.iter().max()?);
    let mean = values.iter().map(|value| *value as f64).sum::<f64>() / values.len() as f64;
    Some(Spread { min, mean, max })
}
