//! Events out of what was read: pure.

use std::collections::{HashMap, HashSet};

use machine::procfs::interrupts::{self, Interrupts, Row};
use machine::procfs::stat::{self, CpuTime, Stat};
use machine::{Fault, Missing};
use serde_json::{Value, json};

/// The columns of /proc/stat, by their indices in [`stat::COLUMNS`], that make up the time of a CPU; those of guests are within others.
const WHOLE: [usize; 8] = [0, 1, 2, 3, 4, 5, 6, 7];
const USER: [usize; 2] = [0, 1];
const SYSTEM: [usize; 1] = [2];
const IDLE: [usize; 2] = [3, 4];
const IRQ: [usize; 1] = [5];
const SOFTIRQ: [usize; 1] = [6];
const STEAL: [usize; 1] = [7];

/// The most lines of interrupts in an event.
const MOST_LINES: usize = 20;

/// The most takers in an event.
const MOST_TAKERS: usize = 20;

/// What each CPU did between two readings of /proc/stat, as shares of that time. A column that the kernel does not print is null.
pub(super) fn cpus(before: Result<&str, &str>, after: Result<&str, &str>, at_s: f64) -> Value {
    let (before, after) = match (parsed_stat(before), parsed_stat(after)) {
        (Ok(before), Ok(after)) => (before, after),
        (Err(why), _) | (_, Err(why)) => {
            return json!({ "at_s": at_s, "cpus": null, "missing": [Missing::new("/proc/stat", why)] });
        }
    };
    let earlier: HashMap<u32, CpuTime> = before.cpus.into_iter().collect();
    let shares = |(cpu, time): &(u32, CpuTime)| of_cpu(*cpu, earlier.get(cpu), time);
    json!({ "at_s": at_s, "cpus": after.cpus.iter().map(shares).collect::<Vec<_>>() })
}

fn parsed_stat(text: Result<&str, &str>) -> Result<Stat, String> {
    stat::parse(text?).map_err(|error| error.to_string())
}

fn of_cpu(cpu: u32, before: Option<&CpuTime>, after: &CpuTime) -> Value {
    let passed = Passed { before, after };
    let share = |columns: &[usize]| passed.share(columns);
    let idle = share(&IDLE);
    json!({
        "cpu": cpu,
        "busy": idle.map(|idle| 1.0 - idle),
        "user": share(&USER),
        "system": share(&SYSTEM),
        "irq": share(&IRQ),
        "softirq": share(&SOFTIRQ),
        "steal": share(&STEAL),
        "idle": idle,
    })
}

/// The time of a CPU between two readings.
struct Passed<'a> {
    before: Option<&'a CpuTime>,
    after: &'a CpuTime,
}

impl Passed<'_> {
    /// The ticks of a column; `None` where the kernel prints none, or it went back.
    fn ticks(&self, column: usize) -> Option<u64> {
        self.after.get(column)?.checked_sub(self.before?.get(column)?)
    }

    fn sum(&self, columns: &[usize]) -> Option<u64> {
        columns.iter().try_fold(0_u64, |all, column| all.checked_add(self.ticks(*column)?))
    }

    /// The share of these columns. Where one of those that are printed is not known, neither is the time that they are a share of.
    fn share(&self, columns: &[usize]) -> Option<f64> {
        let printed = self.after.ticks().len().min(WHOLE.len());
        let whole = self.sum(&WHOLE[..printed]).filter(|ticks| *ticks > 0)?;
        // Where a kernel prints no iowait, idle has it.
        let columns: Vec<usize> = columns.iter().copied().filter(|column| *column < printed).collect();
        if columns.is_empty() { None } else { self.sum(&columns).map(|ticks| ticks as f64 / whole as f64) }
    }
}

/// How often each line interrupted each CPU between two readings of /proc/interrupts, a second; those with most first.
pub(super) fn interrupts(
    before: Result<&str, &str>,
    after: Result<&str, &str>,
    seconds: f64,
    at_s: f64,
) -> Value {
    let (before, after) = match (parsed_table(before), parsed_table(after)) {
        (Ok(before), Ok(after)) => (before, after),
        (Err(why), _) | (_, Err(why)) => {
            return json!({ "at_s": at_s, "lines": null, "missing": [Missing::new("/proc/interrupts", why)] });
        }
    };
    let mut lines = rates(&before, &after, seconds);
    lines.sort_by(|a, b| b.in_all().total_cmp(&a.in_all()));
    let lines: Vec<Value> = lines
        .iter()
        .take(MOST_LINES)
        .map(|line| json!({ "id": line.row.name, "name": line.row.label, "per_s": line.per_s }))
        .collect();
    json!({ "at_s": at_s, "cpus": after.cpus, "lines": lines })
}

fn parsed_table<'a>(text: Result<&'a str, &str>) -> Result<Interrupts<'a>, String> {
    interrupts::parse(text?).map_err(|error| error.to_string())
}

/// How often a line interrupted each CPU, a second, in the order of the columns; `None` where that is not known.
struct Line<'a> {
    row: &'a Row<'a>,
    per_s: Vec<Option<f64>>,
}

impl Line<'_> {
    fn in_all(&self) -> f64 {
        self.per_s.iter().flatten().sum()
    }
}

/// The lines that interrupted in between.
fn rates<'a>(before: &Interrupts<'_>, after: &'a Interrupts<'a>, seconds: f64) -> Vec<Line<'a>> {
    let mut earlier: HashMap<(&str, &str), &[u64]> = HashMap::new();
    let mut twice = HashSet::new();
    for row in &before.rows {
        let Some(counts) = before.per_cpu(row) else { continue };
        // Which of two rows of one name is which is not known.
        if earlier.insert((row.name, row.label), counts).is_some() {
            twice.insert((row.name, row.label));
        }
    }
    earlier.retain(|names, _| !twice.contains(names));
    // A CPU may have come or gone, and with it a column.
    let column = |cpu: &u32| before.cpus.iter().position(|other| other == cpu);
    let columns: Vec<Option<usize>> = after.cpus.iter().map(column).collect();
    let line = |row: &'a Row<'a>| {
        let counts = after.per_cpu(row)?;
        let earlier = earlier.get(&(row.name, row.label))?;
        let rate = |(count, column): (&u64, &Option<usize>)| {
            // A counter that went back was made anew, or ran over.
            let times = count.checked_sub(*earlier.get((*column)?)?)?;
            (seconds > 0.0).then(|| times as f64 / seconds)
        };
        Some(Line { row, per_s: counts.iter().zip(&columns).map(rate).collect() })
    };
    after.rows.iter().filter_map(line).filter(|line| line.in_all() > 0.0).collect()
}

/// Who had the CPUs, by what `pinwise watch` printed; without the rights for that, what is missing.
pub(super) fn takers(watched: Result<Value, Fault>, at_s: f64) -> Value {
    let document = match watched {
        Ok(document) => document,
        Err(fault) => return json!({ "at_s": at_s, "takers": null, "missing": [], "fault": fault }),
    };
    let takers = document["takers"].as_array().map(|takers| &takers[..takers.len().min(MOST_TAKERS)]);
    let ends = [&document["from_ns"], &document["to_ns"]].map(Value::as_u64);
    let window_s = match ends {
        [Some(from), Some(to)] => to.checked_sub(from).map(|ns| ns as f64 / 1e9),
        _ => None,
    };
    json!({ "at_s": at_s, "window_s": window_s, "takers": takers, "missing": document["missing"] })
}

#[cfg(test)]
mod tests;
