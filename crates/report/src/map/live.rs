//! The map while it lives: which CPU takes which interrupts and how busy it is, arranged as the machine is.
//!
//! [`Live`] turns readings of a [`probe::Meter`] into a [`Now`]; [`text`] prints one for a file or a pipe, [`screen`] draws one
//! on a terminal. All of it is pure: nothing here reads a file, a clock or a key.

mod now;
pub mod screen;
pub mod text;

use std::collections::{BTreeMap, BTreeSet};

use machine::Machine;
use machine::procfs::stat::COLUMNS;
use probe::meter::{Reading, RowHead};

use crate::map::arrangement::Arrangement;
pub use now::{CpuNow, Group, LineNow, Now, Share};

/// Probes that a live map needs.
pub const PROBES: [&str; 3] = ["interrupts", "softirqs", "stat"];

/// Columns of /proc/stat in which a CPU works for somebody here; `guest` is part of `user`.
const BUSY: [&str; 5] = ["user", "nice", "system", "irq", "softirq"];

/// Columns that every kernel prints: user, nice, system and idle.
const FEWEST_COLUMNS: usize = 4;

/// The last column that is shown, `steal`: those behind it are parts of others.
const LAST_SHOWN: usize = 7;

/// Turns readings into what is shown.
#[derive(Debug)]
pub struct Live {
    arrangement: Arrangement,
    /// Devices of each interrupt line.
    owners: BTreeMap<String, Vec<String>>,
    last: Sums,
    total: Sums,
    /// CPUs that were online at any reading.
    met: BTreeSet<u32>,
}

/// Movements added up over some time.
#[derive(Debug, Default, Clone)]
struct Sums {
    ns: u64,
    /// By row number: what it is, and how far it moved on each CPU.
    rows: BTreeMap<u32, Row>,
    /// Time by CPU and column of /proc/stat, us; a column that was not read is not there.
    time_us: BTreeMap<u32, BTreeMap<String, i64>>,
    /// CPUs whose interrupts were read, and those whose softirqs were.
    counted: [BTreeSet<u32>; 2],
    missing: Vec<String>,
}

#[derive(Debug, Clone)]
struct Row {
    softirq: bool,
    name: String,
    label: String,
    by_cpu: BTreeMap<u32, u64>,
}

impl Live {
    /// For the machine as it was read at the start.
    pub fn new(machine: &Machine) -> Self {
        let mut owners: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for device in &machine.devices {
            for irq in &device.irqs {
                owners.entry(irq.to_string()).or_default().push(device.name.clone());
            }
        }
        let (last, total, met) = (Sums::default(), Sums::default(), BTreeSet::new());
        Self { arrangement: Arrangement::of(machine), owners, last, total, met }
    }

    /// Takes the next reading.
    pub fn take(&mut self, reading: &Reading<'_>) {
        self.last = Sums::of(reading);
        self.total.add(&self.last);
        self.met.extend(self.last.time_us.keys());
    }

    /// Begins the totals anew.
    pub fn reset(&mut self) {
        self.total = Sums::default();
    }

    /// What happened since the reading before.
    pub fn rates(&self) -> Now {
        self.shown(&self.last)
    }

    /// What happened since the start, or since [`Live::reset`].
    pub fn totals(&self) -> Now {
        self.shown(&self.total)
    }

    fn shown(&self, sums: &Sums) -> Now {
        let window_s = sums.ns as f64 / 1e9;
        let mut by_cpu: BTreeMap<u32, (u64, u64)> = BTreeMap::new();
        for row in sums.rows.values() {
            for (cpu, n) in &row.by_cpu {
                let (interrupts, softirqs) = by_cpu.entry(*cpu).or_default();
                let sum = if row.softirq { softirqs } else { interrupts };
                *sum = sum.saturating_add(*n);
            }
        }
        let counted = sums.counted.iter().flatten();
        let known: Vec<u32> = sums.time_us.keys().chain(by_cpu.keys()).chain(counted).copied().collect();
        let [irqs_of, softirqs_of] = &sums.counted;
        let groups = self.arrangement.groups(&known).into_iter().map(|(package, node, cpus)| {
            let cpu = |cpu: u32| {
                let (interrupts, softirqs) = by_cpu.get(&cpu).copied().unwrap_or_default();
                // Of a first reading nothing is known to have come.
                let of = |count: u64, counted: &BTreeSet<u32>| {
                    (sums.ns > 0 && counted.contains(&cpu)).then_some(count)
                };
                let (interrupts, softirqs) = (of(interrupts, irqs_of), of(softirqs, softirqs_of));
                CpuNow { cpu, time: sums.time_us.get(&cpu).and_then(share), interrupts, softirqs }
            };
            Group { package, node, cpus: cpus.into_iter().map(cpu).collect() }
        });
        let lines = sums.rows.values().filter_map(|row| self.line(row));
        let (groups, lines, missing) = (groups.collect(), lines.collect(), sums.missing.clone());
        Now { window_s, groups, offline: self.offline(), lines, missing }
    }

    /// CPUs that were online before and are not now; none where /proc/stat could not be read.
    fn offline(&self) -> Vec<u32> {
        let there = &self.last.time_us;
        let gone = self.met.iter().filter(|cpu| !there.is_empty() && !there.contains_key(*cpu));
        gone.copied().collect()
    }

    fn line(&self, row: &Row) -> Option<LineNow> {
        let count = row.by_cpu.values().copied().fold(0, u64::saturating_add);
        let devices = if row.softirq { None } else { self.owners.get(&row.name) };
        (count > 0).then(|| LineNow {
            softirq: row.softirq,
            name: row.name.clone(),
            label: row.label.clone(),
            devices: devices.cloned().unwrap_or_default(),
            count,
            by_cpu: row.by_cpu.clone(),
        })
    }
}

impl Sums {
    fn of(reading: &Reading<'_>) -> Self {
        let mut sums = Self { ns: reading.since_ns().unwrap_or(0), ..Self::default() };
        // A CPU that did nothing at all is still there: its time is known to be none, not unknown.
        for now in reading.rows() {
            match now.row.probe {
                "stat" => {
                    for cpu in now.cpus {
                        sums.time_us.entry(*cpu).or_default().entry(now.row.name.to_string()).or_default();
                    }
                }
                probe => sums.counted[usize::from(probe == "softirqs")].extend(now.cpus),
            }
        }
        for cell in reading.moved() {
            let Some(cpu) = cell.cpu else { continue };
            match cell.row.probe {
                "stat" => {
                    let times = sums.time_us.entry(cpu).or_default();
                    let time = times.entry(cell.row.name.to_string()).or_default();
                    *time = time.saturating_add(cell.delta);
                }
                _ => {
                    let row = sums.rows.entry(cell.row.id).or_insert_with(|| Row::new(cell.row));
                    let count = row.by_cpu.entry(cpu).or_default();
                    *count = count.saturating_add(u64::try_from(cell.delta).unwrap_or(0));
                }
            }
        }
        let restarted = reading.restarted().map(|(row, cpu)| match cpu {
            Some(cpu) => format!("{}/{} on CPU {cpu}: its count restarted", row.probe, row.name),
            None => format!("{}/{}: its count restarted", row.probe, row.name),
        });
        let missing = reading.missing().map(|missing| format!("{}: {}", missing.fact, missing.why));
        sums.missing = missing.chain(restarted).collect();
        sums
    }

    fn add(&mut self, other: &Self) {
        self.ns += other.ns;
        for (all, more) in self.counted.iter_mut().zip(&other.counted) {
            all.extend(more);
        }
        for (id, row) in &other.rows {
            let sum = self.rows.entry(*id).or_insert_with(|| Row { by_cpu: BTreeMap::new(), ..row.clone() });
            for (cpu, n) in &row.by_cpu {
                let count = sum.by_cpu.entry(*cpu).or_default();
                *count = count.saturating_add(*n);
            }
        }
        for (cpu, times) in &other.time_us {
            let sum = self.time_us.entry(*cpu).or_default();
            for (name, us) in times {
                let time = sum.entry(name.clone()).or_default();
                *time = time.saturating_add(*us);
            }
        }
        let fresh = other.missing.iter().filter(|missing| !self.missing.contains(missing));
        let fresh: Vec<String> = fresh.cloned().collect();
        self.missing.extend(fresh);
    }
}

impl Row {
    fn new(head: RowHead<'_>) -> Self {
        let softirq = head.probe == "softirqs";
        Self { softirq, name: head.name.to_string(), label: head.label.to_string(), by_cpu: BTreeMap::new() }
    }
}

/// Shares of the time that passed; `None` when none did by ticks of 10 ms, or a part of it is not known: it was not read, or went
/// backwards, which idle time alone may do by a little.
fn share(times: &BTreeMap<String, i64>) -> Option<Share> {
    if !is_whole(times) {
        return None;
    }
    let of = |name: &str| times.get(name).copied().unwrap_or(0);
    let worked = |name: &str| u64::try_from(of(name)).ok().map(|us| us as f64);
    let busy = BUSY.iter().map(|name| worked(name)).sum::<Option<f64>>()?;
    let steal = worked("steal")?;
    let idle = of("idle").max(0) as f64 + of("iowait").max(0) as f64;
    let all = busy + steal + idle;
    (all > 0.0).then(|| Share { busy: busy / all, steal: steal / all, idle: idle / all })
}

/// Whether all columns were read that the kernel prints: it prints the first ones, all of them or, an old one, fewer.
fn is_whole(times: &BTreeMap<String, i64>) -> bool {
    let known = COLUMNS.iter().filter(|name| times.contains_key(**name)).count();
    let first = COLUMNS.iter().take_while(|name| times.contains_key(**name)).count();
    first >= FEWEST_COLUMNS && (first == known || first > LAST_SHOWN)
}

#[cfg(test)]
mod tests;
