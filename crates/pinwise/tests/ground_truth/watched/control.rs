//! A storm shows in its own rows and in no other: its window beside the kernel's own counters of it, and beside a quiet window (the
//! control).
//!
//! Other work of the machine comes in either window, and more in one than in the other. So a row that the kernel has a counter for is held to
//! that: it may not report more than the kernel counted. Then no row needs to be excused for what rides on a storm (softirqs run at the end of
//! the interrupts that it makes, the completion of a read is sent to the CPU that asked for it): the counter has it as well. Rows without such
//! a counter, which are all about the target, are held to the control: what the same target met while there was no storm.

use std::collections::BTreeMap;

use super::figures::number;
use super::watching::{Sheet, Stage};

/// How often something came, by row.
type Counts = BTreeMap<String, u64>;

/// Of a storm's events this share may be found in another row beyond what the control has there.
const ELSEWHERE: f64 = 0.02;
/// And so many where a storm is small.
const FEW: u64 = 5;
/// Some counters are raised after the trace point: so many may be on the way when they are read.
const ON_THE_WAY: u64 = 2;

/// Rows of /proc/interrupts whose counter is that of a source. The two kinds of function calls have one.
const VECTORS: [(&str, &str); 6] = [
    ("LOC", "tick"),
    ("RES", "reschedule"),
    ("CAL", "call_function"),
    ("IWI", "irq_work"),
    ("NMI", "nmi"),
    ("TRM", "thermal"),
];

/// Lines of /proc/vmstat by what watch calls them.
const PAGING: [(&str, &str); 4] = [
    ("pswpin", "swapped_in_pages"),
    ("pswpout", "swapped_out_pages"),
    ("numa_hint_faults", "numa_hint_faults"),
    ("numa_pages_migrated", "numa_migrated_pages"),
];

/// What the kernel's own counters stand at, by the rows of the sheet that show the same. A row that is not here has no such counter.
#[derive(Clone)]
pub struct Counters(Counts);

impl Counters {
    /// Reads them; a thread of this process has its own page faults among them.
    pub fn now(tid: Option<u32>) -> Self {
        let mut counts = Counts::new();
        by_cpu("/proc/interrupts", |row, cpu, count| {
            if row.parse::<u32>().is_ok() {
                counts.insert(format!("line {row} on CPU {cpu}"), count);
                *counts.entry(format!("device on CPU {cpu}")).or_default() += count;
            } else if let Some((_, source)) = VECTORS.iter().find(|(vector, _)| *vector == row) {
                counts.insert(format!("{source} on CPU {cpu}"), count);
            }
        });
        by_cpu("/proc/softirqs", |row, cpu, count| {
            counts.insert(format!("softirq_{} on CPU {cpu}", row.to_lowercase()), count);
        });
        let vmstat = std::fs::read_to_string("/proc/vmstat").unwrap();
        for (name, count) in vmstat.lines().filter_map(|line| line.split_once(' ')) {
            if let Some((_, row)) = PAGING.iter().find(|(counter, _)| *counter == name) {
                counts.insert((*row).into(), count.parse().unwrap());
            }
        }
        counts.extend(tid.into_iter().flat_map(faults));
        Self(counts)
    }

    /// What each rose by since `before`.
    fn since(&self, before: &Self) -> Counts {
        self.0
            .iter()
            .map(|(row, count)| (row.clone(), count.saturating_sub(before.0.get(row).copied().unwrap_or(0))))
            .collect()
    }
}

/// Each number of a table whose head names CPUs: row, CPU, count.
fn by_cpu(file: &str, mut each: impl FnMut(&str, u32, u64)) {
    let text = std::fs::read_to_string(file).unwrap();
    let mut lines = text.lines();
    let cpus: Vec<u32> =
        lines.next().unwrap().split_whitespace().map(|cpu| cpu[3..].parse().unwrap()).collect();
    for (row, counts) in lines.filter_map(|line| line.split_once(':')) {
        let counts = counts.split_whitespace().map_while(|word| word.parse().ok());
        cpus.iter().zip(counts).for_each(|(cpu, count)| each(row.trim(), *cpu, count));
    }
}

/// Page faults of a thread of this process, by proc_pid_stat(5).
fn faults(tid: u32) -> [(String, u64); 2] {
    let stat = std::fs::read_to_string(format!("/proc/self/task/{tid}/stat")).unwrap();
    let words: Vec<&str> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    [("minor_faults", 7), ("major_faults", 9)].map(|(row, at)| (row.into(), words[at].parse().unwrap()))
}

/// What one window reports, and what the kernel counted from before its beginning to after its end.
pub struct Window {
    reported: Counts,
    kernel: Counts,
}

impl Window {
    /// One of the same target in which nothing of the test's goes on.
    pub fn quiet(stage: &Stage, flags: &[&str], tid: Option<u32>) -> Self {
        let before = Counters::now(tid);
        Self::of(&stage.watch(flags), &before, tid)
    }

    /// Of a sheet that has just come; `before` was read before it began, and `tid` is the thread that is watched, which lives yet.
    pub fn of(sheet: &Sheet, before: &Counters, tid: Option<u32>) -> Self {
        Self { reported: reported(sheet), kernel: Counters::now(tid).since(before) }
    }

    /// Holds every row but the storm's own (each by the begin of its name) to what it can have met. The storm came `times`.
    #[track_caller]
    pub fn rises_only_in(&self, own: &[&str], times: u64, quiet: &Self) {
        let allowed = (times as f64 * ELSEWHERE) as u64 + FEW;
        let mut elsewhere = Vec::new();
        for (row, &here) in &self.reported {
            let there = quiet.reported.get(row).copied().unwrap_or(0);
            let counted = self.kernel.get(row).copied();
            let at_most = counted.map_or(there + allowed, |count| count + ON_THE_WAY);
            let own = own.iter().any(|name| row.starts_with(name));
            let says = format!("{row}: {here}, quiet {there}, by the kernel's counter {counted:?}");
            if own || here > there + allowed {
                eprintln!("{says}{}", if own { " (its own)" } else { "" });
            }
            if here > at_most && !(own && counted.is_none()) {
                elsewhere.push(says);
            }
        }
        assert!(elsewhere.is_empty(), "rows that a storm of {times} is not for: {elsewhere:#?}");
    }
}

/// Every row that a storm could be reported in: each source on each CPU, each line of a device, what the target's threads met together, routes
/// of its migrations, paging of the machine.
fn reported(sheet: &Sheet) -> Counts {
    let mut counts = Counts::new();
    for cpu in sheet.rows("cpus") {
        for (source, row) in cpu["sources"].as_object().unwrap() {
            let source = if source == "call_function_single" { "call_function" } else { source };
            *counts.entry(format!("{source} on CPU {}", cpu["cpu"])).or_default() += number(&row["count"]);
        }
    }
    for line in sheet.rows("lines") {
        counts.insert(format!("line {} on CPU {}", line["irq"], line["cpu"]), number(&line["count"]));
    }
    for route in sheet.rows("routes") {
        counts
            .insert(format!("route from CPU {} to {}", route["from"], route["to"]), number(&route["times"]));
    }
    let together = &sheet.json["together"];
    for row in ["page_faults", "minor_faults", "major_faults", "woken_elsewhere"] {
        counts.extend(together[row].as_u64().map(|count| (row.into(), count)));
    }
    counts.extend(together["reclaim"]["count"].as_u64().map(|count| ("reclaim".into(), count)));
    for (table, rows) in [("migrations", &together["migrations"]), ("", &sheet.json["paging"])] {
        for (row, count) in rows.as_object().into_iter().flatten() {
            counts.extend(count.as_u64().map(|count| (format!("{table} {row}").trim().into(), count)));
        }
    }
    counts
}
