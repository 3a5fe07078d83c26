//! How often interrupts came that no program sees here: /proc/interrupts counts them, and does not say how long they took.
//!
//! On x86 nearly every kind has a trace point of its own (irq_vectors, arch/x86/include/asm/trace/irq_vectors.h); elsewhere timers and
//! inter-processor interrupts have none there, or the kernel was built without.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use machine::{CpuSet, Missing, Root};
use serde::{Deserialize, Serialize};

use crate::account::time_account::Account;
use crate::account::window::difference::sorted;
use crate::meter::{Meter, Reading};

/// How often it is looked at most.
const EVERY: Duration = Duration::from_secs(1);

/// With a thousand CPUs the file has megabytes: after a look, so many times the CPU time that it took pass without another.
const REST: u64 = 1_000;

const FACT: &str = "interrupts that have no trace point";

/// Rows of x86 and the program that sees them (arch_show_interrupts of arch/x86/kernel/irq.c). TLB counts calls that are in CAL, or came
/// the same way; PMI and performance counters come as NMIs.
const SEEN_BY: [(&str, &str); 12] = [
    ("NMI", "nmi_handler"),
    ("PMI", "nmi_handler"),
    ("LOC", "local_timer_entry"),
    ("RES", "reschedule_entry"),
    ("CAL", "call_function_single_entry"),
    ("TLB", "call_function_single_entry"),
    ("IWI", "irq_work_entry"),
    ("PLT", "x86_platform_ipi_entry"),
    ("TRM", "thermal_apic_entry"),
    ("THR", "threshold_apic_entry"),
    ("DFR", "deferred_error_apic_entry"),
    ("SPU", "spurious_apic_entry"),
];

/// The program that sees lines of devices and, on others than x86, the timer of each CPU.
const OF_LINES: &str = "irq_handler_entry";

/// Rows of x86 that are no interrupts, or come so seldom that it is not worth looking at the file for them: machine checks, looks for such
/// (one in 5 minutes), repeated reads of a register.
const SELDOM: [&str; 3] = ["MCE", "MCP", "RTR"];

/// Interrupts of a kind on one CPU, of which it is known how often they came, and not how long they took. Source: /proc/interrupts.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct CountedInterrupts {
    /// CPU.
    pub cpu: u32,
    /// The row: `LOC`, `IPI0`, or the number of a line.
    pub name: String,
    /// What the kernel calls it; empty where the name says it all.
    pub label: String,
    /// How often.
    pub count: u64,
}

/// What came since this was made.
pub(in crate::account) struct CountedSince {
    /// `None` where programs see all that comes.
    meter: Option<Meter>,
    /// The programs that are attached.
    runs: BTreeSet<&'static str>,
    looked: Instant,
    /// How long it is not looked again.
    rest: Duration,
    counts: BTreeMap<(u32, String), (String, u64)>,
    missing: Vec<Missing>,
    ended: bool,
}

impl CountedSince {
    /// From now on. `runs`: whether a program is attached.
    pub(in crate::account) fn now(root: Root, runs: impl Fn(&str) -> bool) -> Self {
        let programs = SEEN_BY.iter().map(|(_, program)| *program).chain([OF_LINES]);
        let runs: BTreeSet<&'static str> = programs.filter(|program| runs(program)).collect();
        let mut meter = Meter::new(root, &["interrupts"]);
        let reading = meter.read();
        let missing = unread(&reading);
        // What has never come since boot makes nobody look at the file again and again.
        let any = reading.rows().any(|now| {
            !now.cpus.is_empty() && now.values.iter().any(|value| *value > 0) && !is_seen(now.row.name, &runs)
        });
        let (looked, rest) = (Instant::now(), rest(&reading));
        let meter = (any || !missing.is_empty()).then_some(meter);
        Self { meter, runs, looked, rest, counts: BTreeMap::new(), missing, ended: false }
    }

    /// Looks, unless it did so a moment ago.
    pub(in crate::account) fn look(&mut self) {
        if !self.ended && self.looked.elapsed() >= self.rest {
            self.read();
        }
    }

    /// Looks for the last time.
    pub(in crate::account) fn end(&mut self) {
        if !self.ended {
            self.read();
        }
        self.ended = true;
    }

    fn read(&mut self) {
        let Some(meter) = &mut self.meter else { return };
        self.looked = Instant::now();
        let reading = meter.read();
        self.rest = rest(&reading);
        for cell in reading.moved().filter(|cell| !is_seen(cell.row.name, &self.runs)) {
            let (Some(cpu), Ok(more)) = (cell.cpu, u64::try_from(cell.delta)) else { continue };
            let named = || (cell.row.label.to_string(), 0);
            self.counts.entry((cpu, cell.row.name.to_string())).or_insert_with(named).1 += more;
        }
        let again = reading.restarted().filter(|(row, _)| !is_seen(row.name, &self.runs));
        let again = again.filter_map(|(row, cpu)| {
            let why = "the count began again: what came in between is not known";
            Some(Missing::new(format_args!("a part of the interrupts {} of CPU {}", row.name, cpu?), why))
        });
        let missing: Vec<Missing> = unread(&reading).into_iter().chain(again).collect();
        Missing::add_new(&mut self.missing, &missing);
    }

    /// What came until it was looked at last, on these CPUs if any are named.
    fn so_far(&self, cpus: Option<&CpuSet>) -> Vec<CountedInterrupts> {
        let there = self.counts.iter().filter(|((cpu, _), _)| cpus.is_none_or(|cpus| cpus.contains(*cpu)));
        let counted = there.map(|((cpu, name), (label, count))| CountedInterrupts {
            cpu: *cpu,
            name: name.clone(),
            label: label.clone(),
            count: *count,
        });
        sorted(counted.collect())
    }

    /// The account with them, and with what is not known of them.
    pub(in crate::account) fn within(&self, mut account: Account, cpus: Option<&CpuSet>) -> Account {
        account.counted_only = self.so_far(cpus);
        account.missing.extend(self.missing.iter().cloned());
        account
    }
}

fn rest(reading: &Reading<'_>) -> Duration {
    EVERY.max(Duration::from_nanos(reading.cpu_ns().saturating_mul(REST)))
}

fn unread(reading: &Reading<'_>) -> Vec<Missing> {
    reading.missing().map(|why| Missing::new(FACT, format_args!("{}: {}", why.fact, why.why))).collect()
}

/// Whether a program sees the interrupts of a row, or nobody asks for them.
fn is_seen(row: &str, runs: &BTreeSet<&'static str>) -> bool {
    match SEEN_BY.iter().find(|(name, _)| *name == row) {
        Some((_, program)) => runs.contains(program),
        None if row.bytes().all(|byte| byte.is_ascii_digit()) => runs.contains(OF_LINES),
        None => SELDOM.contains(&row),
    }
}

#[cfg(test)]
mod tests {
    use machine::Tree;

    use super::*;

    const X86: &str = "  CPU0 CPU1\n 24: 5 0 IO-APIC 5-edge  disk\nNMI: 0 0   Non-maskable interrupts\nLOC: 10 20   Local timer \
        interrupts\nCAL: 3 4   Function call interrupts\nMCP: 9 9   Machine check polls\nERR: 7\n";

    fn root(table: &str) -> Root {
        Root::from_tree(Tree::new().file("/proc/interrupts", table))
    }

    /// From one table to others, a second after each other; rows by CPU and name at the end.
    fn between(tables: &[&str], runs: impl Fn(&str) -> bool) -> (Vec<(u32, String, u64)>, Vec<Missing>) {
        let mut since = CountedSince::now(root(tables[0]), runs);
        for table in &tables[1..] {
            if let Some(meter) = &mut since.meter {
                meter.look_at(root(table));
            }
            since.looked = since.looked.checked_sub(since.rest).unwrap();
            since.look();
        }
        let reported = since.so_far(None).into_iter().map(|row| (row.cpu, row.name, row.count));
        (reported.collect(), since.missing)
    }

    fn after(loc: &str) -> String {
        X86.replace("LOC: 10 20", loc).replace("24: 5", "24: 99").replace("MCP: 9", "MCP: 10")
    }

    #[test]
    fn what_no_program_sees_is_counted_by_cpu() {
        let (reported, missing) = between(&[X86, &after("LOC: 15 20"), &after("LOC: 17 21")], |program| {
            program != "local_timer_entry"
        });
        assert_eq!(reported, [(0, "LOC".to_string(), 7), (1, "LOC".to_string(), 1)]);
        assert_eq!(missing, []);
        let (reported, _) = between(&[X86, &after("LOC: 15 20")], |_| false);
        assert_eq!(reported, [(0, "24".to_string(), 94), (0, "LOC".to_string(), 5)]);
    }

    #[test]
    fn where_programs_see_all_that_comes_the_file_is_not_looked_at_again() {
        assert!(CountedSince::now(root(X86), |_| true).meter.is_none());
        // The one kind that no program sees has never come.
        assert!(CountedSince::now(root(X86), |program| program != "nmi_handler").meter.is_none());
        let hyper_v = format!("{X86}HVS: 0 3   Hyper-V stimer0 interrupts\n");
        assert!(CountedSince::now(root(&hyper_v), |_| true).meter.is_some());
    }

    #[test]
    fn on_arm_inter_processor_interrupts_have_rows_of_their_own_and_timers_are_lines() {
        let table = |timer: u64, first: u64| {
            format!(
                "  CPU0 CPU1\n 11: {timer} 6 GICv3  27 Level     arch_timer\nIPI0: {first} 5       Rescheduling interrupts\n\
                IPI4: 0 0       Timer broadcast interrupts\nErr: 0\n"
            )
        };
        let (reported, _) = between(&[&table(1, 1), &table(100, 4)], |program| program == OF_LINES);
        assert_eq!(reported, [(0, "IPI0".to_string(), 3)]);
        let (reported, _) = between(&[&table(1, 1), &table(100, 4)], |_| false);
        assert_eq!(reported, [(0, "11".to_string(), 99), (0, "IPI0".to_string(), 3)]);
    }

    #[test]
    fn it_looks_once_a_second_and_at_the_end_and_keeps_what_was_there_then() {
        let mut since = CountedSince::now(root(X86), |_| false);
        since.meter.as_mut().unwrap().look_at(root(&after("LOC: 12 20")));
        since.look();
        assert!(since.so_far(None).is_empty(), "a moment ago");
        since.end();
        let reported = since.so_far(Some(&CpuSet::single(0)));
        let loc = reported.iter().find(|row| row.name == "LOC").unwrap();
        assert_eq!((loc.count, loc.label.as_str()), (2, "Local timer interrupts"));
        assert!(since.so_far(Some(&CpuSet::single(1))).is_empty());
        since.meter.as_mut().unwrap().look_at(root(&after("LOC: 99 20")));
        since.looked = since.looked.checked_sub(since.rest).unwrap();
        since.look();
        since.end();
        assert_eq!(since.so_far(None), reported);
    }

    #[test]
    fn what_cannot_be_read_or_began_again_is_missing() {
        let (reported, missing) = between(&["no table", X86], |_| false);
        assert_eq!((reported.len(), missing.len()), (0, 1), "{missing:?}");
        assert!(missing[0].fact == FACT && missing[0].why.contains("/proc/interrupts"), "{missing:?}");
        let many = X86.replace("LOC: 10", "LOC: 1000000");
        let (reported, missing) = between(&[&many, X86], |_| false);
        assert_eq!((reported.len(), missing.len()), (0, 1), "{missing:?}");
        assert!(missing[0].fact.contains("LOC of CPU 0"), "{missing:?}");
    }
}
