//! What happened on CPUs, and who took them, added up.

use std::collections::BTreeMap;

use probe::account::{Account, CpuAccount, Source};

use super::bounded::Bounded;
use super::families;
use super::label_text::{of_kind, of_name};
use super::lengths::Lengths;
use super::of_server::{OTHER, add};
use super::page::Page;

/// Who had a CPU; the first only where there is a server.
const USES: [&str; 6] = ["server", "other_tasks", "idle", "interrupts", "offline", "unknown"];

/// Takers that are kept apart.
const MOST_TAKERS: usize = 50;

/// Sums of one CPU.
#[derive(Default)]
struct OfCpu {
    /// In the order of [`USES`], ns.
    uses_ns: [u64; 6],
    steal_ns: Option<u64>,
    switches: u64,
    /// How often, and how long in ns.
    sources: BTreeMap<Source, (u64, u64)>,
}

/// Sums of all CPUs.
pub(super) struct OfCpus {
    by_cpu: BTreeMap<u32, OfCpu>,
    lengths: BTreeMap<Source, Lengths>,
    counted: BTreeMap<(u32, String), u64>,
    /// By kind and name: how often, and how long in ns.
    takers: Bounded<(String, String), (u64, u64)>,
    /// Switches that the kernel did not report.
    unreported_switches: u64,
}

impl OfCpus {
    pub(super) fn new() -> Self {
        Self {
            by_cpu: BTreeMap::new(),
            lengths: BTreeMap::new(),
            counted: BTreeMap::new(),
            takers: Bounded::new(MOST_TAKERS, (OTHER.into(), OTHER.into())),
            unreported_switches: 0,
        }
    }

    /// Adds an interval.
    pub(super) fn add(&mut self, interval: &Account) {
        for cpu in &interval.cpus {
            add(&mut self.unreported_switches, cpu.untold_switches);
            self.by_cpu.entry(cpu.cpu).or_default().add(cpu);
            for (source, seen) in cpu.sources.iter() {
                self.lengths.entry(source).or_default().add(&seen.lengths, seen.all.total_ns);
            }
        }
        for row in &interval.counted_only {
            let key = (row.cpu, of_name(format!("{} {}", row.name, row.label).trim()));
            add(self.counted.entry(key).or_default(), row.count);
        }
        // Who took most comes first, and has a place of its own first.
        for taker in &interval.takers {
            let key = (of_kind(&taker.kind), of_name(&taker.name));
            let (count, took_ns) = self.takers.sum(key, interval.to_ns);
            add(count, taker.count);
            add(took_ns, taker.took_ns);
        }
    }

    /// How many switches the kernel did not report.
    pub(super) fn unreported_switches(&self) -> u64 {
        self.unreported_switches
    }

    /// Shows who took.
    pub(super) fn show_takers(&self, page: &mut Page) {
        let mut times = page.of(&families::TAKER_TIME);
        for ((kind, name), (_, took_ns)) in self.takers.iter() {
            times.time(&[("kind", kind), ("name", name)], *took_ns);
        }
        let mut events = page.of(&families::TAKER_EVENTS);
        for ((kind, name), (count, _)) in self.takers.iter() {
            events.number(&[("kind", kind), ("name", name)], *count);
        }
    }

    /// Shows CPUs and what interrupted them.
    pub(super) fn show(&self, page: &mut Page, has_server: bool) {
        let by_cpu: Vec<(String, &OfCpu)> =
            self.by_cpu.iter().map(|(cpu, seen)| (cpu.to_string(), seen)).collect();
        let mut times = page.of(&families::CPU_TIME);
        for (cpu, seen) in &by_cpu {
            let uses = USES.iter().zip(seen.uses_ns).skip(usize::from(!has_server));
            uses.for_each(|(had, ns)| times.time(&[("cpu", cpu), ("use", had)], ns));
        }
        let mut steal = page.of(&families::CPU_STEAL);
        for (cpu, steal_ns) in by_cpu.iter().filter_map(|(cpu, seen)| Some((cpu, seen.steal_ns?))) {
            steal.time(&[("cpu", cpu)], steal_ns);
        }
        let mut switches = page.of(&families::CPU_SWITCHES);
        by_cpu.iter().for_each(|(cpu, seen)| switches.number(&[("cpu", cpu)], seen.switches));
        self.show_interrupts(page, &by_cpu);
    }

    fn show_interrupts(&self, page: &mut Page, by_cpu: &[(String, &OfCpu)]) {
        let mut counts = page.of(&families::INTERRUPTS);
        for (cpu, seen) in by_cpu {
            for (source, (count, _)) in &seen.sources {
                counts.number(&[("cpu", cpu), ("kind", kind(*source)), ("source", &of_kind(source))], *count);
            }
        }
        let mut times = page.of(&families::INTERRUPT_TIME);
        for (cpu, seen) in by_cpu {
            for (source, (_, ns)) in &seen.sources {
                times.time(&[("cpu", cpu), ("kind", kind(*source)), ("source", &of_kind(source))], *ns);
            }
        }
        let mut lengths = page.of(&families::INTERRUPT_LENGTH);
        for (source, seen) in &self.lengths {
            lengths.lengths(&[("kind", kind(*source)), ("source", &of_kind(source))], seen);
        }
        let mut counted = page.of(&families::COUNTED);
        for ((cpu, name), count) in &self.counted {
            counted.number(&[("cpu", &cpu.to_string()), ("name", name)], *count);
        }
    }
}

impl OfCpu {
    fn add(&mut self, cpu: &CpuAccount) {
        let more =
            [cpu.target_ns, cpu.other_ns, cpu.idle_ns, cpu.interrupted_ns, cpu.offline_ns(), cpu.unknown_ns];
        self.uses_ns.iter_mut().zip(more).for_each(|(sum, more)| add(sum, more));
        if let Some(steal_ns) = cpu.steal_ns {
            add(self.steal_ns.get_or_insert(0), steal_ns);
        }
        add(&mut self.switches, cpu.switches);
        for (source, seen) in cpu.sources.iter() {
            let (count, total_ns) = self.sources.entry(source).or_default();
            add(count, seen.all.count);
            add(total_ns, seen.all.total_ns);
        }
    }
}

fn kind(source: Source) -> &'static str {
    match source {
        Source::Nmi => "nmi",
        source if source.is_softirq() => "softirq",
        _ => "interrupt",
    }
}
