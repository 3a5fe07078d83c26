//! Which interrupts, softirqs and stolen time differ from CPU to CPU while the server runs there.

pub mod interrupt_share;

use std::collections::{BTreeMap, BTreeSet};

use probe::Observation;
use study::statistics::summary::median;
use study::{Facts, Role};

/// What an event is assumed to cost where no interrupt could be measured, us. Whoever shows what follows from it says so.
pub const ASSUMED_INTERRUPT_COST_US: f64 = 5.0;

/// Shares of a CPU's time from which on the shade of a cell is one step deeper. Not in equal steps: a hundredth is about the least that a
/// study can see, and above a half it no longer matters how much more it is.
pub const SHADES_FROM: [f64; 9] = [0.005, 0.01, 0.02, 0.05, 0.10, 0.15, 0.20, 0.30, 0.50];

/// Event rates that differ by less than this are noise, events/s.
const LEAST_EVENTS_PER_S: f64 = 20.0;

/// Times that differ by less than this are noise, us/s (1 %).
const LEAST_US_PER_S: f64 = 10_000.0;

/// The highest rate must be this many times the lowest.
const LEAST_FACTOR: f64 = 1.25;

/// Rows that a page shows at most.
const MOST_ROWS: usize = 12;

/// Rows of /proc/stat that take a CPU away from the server; the others (user, system, idle) are the server itself.
const THIEVES: [&str; 3] = ["irq", "softirq", "steal"];

/// One counter over the CPUs.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// Probe that read it.
    pub probe: String,
    /// Row name as the probe gives it.
    pub name: String,
    /// What the kernel calls it.
    pub label: String,
    /// Whether the rate is a time (us a second), not a count.
    pub is_time: bool,
    /// Rate on each CPU, a second, while the server was on that CPU: median over trials; `None` where it is not known.
    pub rates: Vec<Option<f64>>,
    /// Whether the CPUs differ in it by more than noise.
    pub differs: bool,
}

/// What one event is taken to cost the CPU that serves it.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EventCost {
    /// CPU time, us.
    pub us: f64,
    /// Whether it was measured on this machine, with the timer's interrupt; otherwise it is [`ASSUMED_INTERRUPT_COST_US`].
    pub is_measured: bool,
}

impl EventCost {
    /// What the case says of it.
    pub fn of(facts: &Facts) -> Self {
        match facts.interrupt_cost_ns.filter(|ns| ns.is_finite() && *ns > 0.0) {
            Some(ns) => Self { us: ns / 1e3, is_measured: true },
            None => Self { us: ASSUMED_INTERRUPT_COST_US, is_measured: false },
        }
    }
}

/// The rows of interest.
#[derive(Debug, Clone, PartialEq)]
pub struct Heat {
    /// CPUs that the server was pinned to, ascending.
    pub cpus: Vec<u32>,
    /// Rows by probe, within a probe the one that differs most first.
    pub rows: Vec<Row>,
    /// Rows that differ but found no room.
    pub left_out: usize,
    /// What brings counts of events to the CPU time by which they are shaded.
    pub cost: EventCost,
}

impl Row {
    /// Name for a reader: `IRQ 85 (p7p1-rx-0)`, `function-call interrupts (CAL)`, `NET_RX softirq`, `softirq time`.
    pub fn title(&self) -> String {
        match (self.is_time, self.probe.as_str()) {
            (true, _) => format!("{} time", self.name),
            (_, "interrupts") => advise::interrupt_rows::words(&self.name, &self.label),
            (_, "softirqs") => format!("{} softirq", self.name),
            _ => self.name.clone(),
        }
    }

    /// Unit of a shown rate.
    pub fn unit(&self) -> &'static str {
        if self.is_time { "% of time" } else { "/s" }
    }

    /// The rate of the CPU at place `index` of [`Heat::cpus`], as [`rates`](Self::rates) has it; `None` where it is not known.
    pub fn rate(&self, index: usize) -> Option<f64> {
        self.rates.get(index).copied().flatten()
    }

    /// The rate of CPU number `index` in few characters; times as percent.
    pub fn shown(&self, index: usize) -> String {
        match self.rate(index) {
            None => "?".into(),
            Some(us_per_s) if self.is_time => crate::number::compact(us_per_s / 1e4),
            Some(rate) => crate::number::compact(rate),
        }
    }

    /// The share of the time of CPU number `index` that the row takes, 0 to 1: of a time as it was measured, of a count at `cost` an event.
    /// `None` where the rate is not known.
    pub fn share(&self, index: usize, cost: EventCost) -> Option<f64> {
        let rate = self.rate(index)?;
        let us_per_s = if self.is_time { rate } else { rate * cost.us };
        let share = us_per_s / 1e6;
        share.is_finite().then(|| share.clamp(0.0, 1.0))
    }
}

/// The shade of a share of a CPU's time, 0 (pale) to 9, the same in every row and every picture.
pub fn shade(share: f64) -> usize {
    SHADES_FROM.iter().filter(|from| share >= **from).count()
}

/// Reads the heat out of the trials of the pinned arms.
pub fn read(facts: &Facts) -> Heat {
    let mut arms: Vec<(u32, &str)> = facts
        .study
        .arms
        .iter()
        .filter(|a| a.role == Role::Candidate)
        .filter_map(|a| Some((a.cpu?, a.name.as_str())))
        .collect();
    arms.sort_unstable();
    let known: Vec<BTreeMap<Key, f64>> =
        arms.iter().map(|(cpu, arm)| rates_on(&facts.observations(arm), *cpu)).collect();
    let moved: BTreeSet<(Key, &str, bool)> = arms
        .iter()
        .flat_map(|(_, arm)| facts.observations(arm))
        .flat_map(|o| &o.counters)
        .filter(|c| match c.probe.as_str() {
            "interrupts" | "softirqs" => true,
            "stat" => THIEVES.contains(&c.name.as_str()),
            _ => false,
        })
        .map(|c| ((c.probe.as_str(), c.name.as_str()), c.label.as_str(), c.unit == "us"))
        .collect();
    let mut rows: Vec<Row> = moved
        .into_iter()
        .map(|(key, label, is_time)| {
            row(key, label, is_time, known.iter().map(|k| k.get(&key).copied()).collect())
        })
        .collect();
    rows.dedup_by(|a, b| a.probe == b.probe && a.name == b.name);
    let cost = EventCost::of(facts);
    let (rows, left_out) = choose(rows, cost.us);
    Heat { cpus: arms.into_iter().map(|(cpu, _)| cpu).collect(), rows, left_out, cost }
}

/// Probe and row name.
type Key<'a> = (&'a str, &'a str);

/// Median rates on `cpu` over an arm's observations. Rows that were read and stood still count as 0.
fn rates_on<'a>(observations: &[&'a Observation], cpu: u32) -> BTreeMap<Key<'a>, f64> {
    let mut values: BTreeMap<Key, Vec<f64>> = BTreeMap::new();
    for observation in observations.iter().filter(|o| o.window_s() > 0.0) {
        for counter in &observation.counters {
            if let Some(n) = counter.by_cpu.get(&cpu) {
                let rate = *n as f64 / observation.window_s();
                values.entry((&counter.probe, &counter.name)).or_default().push(rate);
            }
        }
        for key in observation.still.iter().filter_map(|s| s.split_once('/')) {
            values.entry(key).or_default().push(0.0);
        }
    }
    values.into_iter().filter_map(|(key, rates)| Some((key, median(&rates)?))).collect()
}

fn row((probe, name): Key, label: &str, is_time: bool, rates: Vec<Option<f64>>) -> Row {
    let least = if is_time { LEAST_US_PER_S } else { LEAST_EVENTS_PER_S };
    let differs = range(&rates).is_some_and(|(low, high)| high - low >= least && high >= LEAST_FACTOR * low);
    Row { probe: probe.into(), name: name.into(), label: label.into(), is_time, rates, differs }
}

/// The rows that differ, dearest first; when none does, the busiest ones, so that a reader sees that they are even.
fn choose(rows: Vec<Row>, cost_us: f64) -> (Vec<Row>, usize) {
    const FOR_REFERENCE: usize = 5;
    let us_per_s = |row: &Row, rate: f64| if row.is_time { rate } else { rate * cost_us };
    let (differing, even): (Vec<Row>, Vec<Row>) = rows.into_iter().partition(|r| r.differs);
    let weight = |row: &Row| {
        let (low, high) = range(&row.rates).unwrap_or_default();
        us_per_s(row, if row.differs { high - low } else { high })
    };
    let (mut chosen, room) = match differing.is_empty() {
        true => (even, FOR_REFERENCE),
        false => (differing, MOST_ROWS),
    };
    chosen.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    let left_out =
        if chosen.first().is_some_and(|r| r.differs) { chosen.len().saturating_sub(room) } else { 0 };
    chosen.truncate(room);
    chosen.sort_by(|a, b| a.probe.cmp(&b.probe));
    (chosen, left_out)
}

fn range(rates: &[Option<f64>]) -> Option<(f64, f64)> {
    let known = || rates.iter().flatten().copied();
    known().next()?;
    Some((known().fold(f64::INFINITY, f64::min), known().fold(f64::NEG_INFINITY, f64::max)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const COST: EventCost = EventCost { us: 3.0, is_measured: true };

    #[test]
    fn a_cell_is_as_deep_as_the_share_of_the_cpu_that_it_takes() {
        let hot = row(("interrupts", "85"), "p7p1-rx-0", false, vec![Some(10.0), Some(90_000.0), None]);
        assert!(hot.differs);
        assert_eq!(hot.title(), "IRQ 85 (p7p1-rx-0)");
        assert_eq!((hot.shown(1), hot.shown(2), hot.share(2, COST)), ("90.0k".into(), "?".into(), None));
        assert_eq!([0, 2, 3].map(|place| hot.rate(place)), [Some(10.0), None, None]);
        let share = hot.share(1, COST).unwrap();
        assert!((share - 0.27).abs() < 1e-9 && shade(share) == 7, "90,000 events/s at 3 us: {share}");
        assert_eq!(hot.share(0, COST).map(shade), Some(0));
    }

    #[test]
    fn a_row_that_costs_nothing_stays_pale_however_uneven_it_is() {
        let cheap = row(("interrupts", "CAL"), "", false, vec![Some(0.0), Some(400.0)]);
        assert!(cheap.differs && cheap.share(1, COST).map(shade) == Some(0));
        let even = row(("stat", "softirq"), "", true, vec![Some(600_000.0), Some(600_000.0)]);
        assert_eq!(even.share(0, COST).map(shade), Some(9), "alike, and most of every CPU");
    }

    #[test]
    fn a_cost_that_was_not_measured_is_an_assumption_and_a_share_stays_one() {
        let storm = row(("interrupts", "LOC"), "", false, vec![Some(1e9), Some(f64::INFINITY)]);
        assert_eq!((storm.share(0, COST), storm.share(1, COST)), (Some(1.0), None));
        assert_eq!([0.0, 0.005, 0.21, 1.0].map(shade), [0, 1, 7, 9]);
    }

    #[test]
    fn times_read_as_percent() {
        let softirq = row(("stat", "softirq"), "", true, vec![Some(240_000.0), Some(740_000.0)]);
        assert_eq!((softirq.shown(0), softirq.shown(1)), ("24".into(), "74".into()));
        assert_eq!((softirq.title().as_str(), softirq.unit()), ("softirq time", "% of time"));
    }

    #[test]
    fn without_a_difference_the_busiest_rows_are_shown() {
        let rows = (0..9)
            .map(|i| row(("interrupts", &i.to_string()), "", false, vec![Some(f64::from(i)); 2]))
            .collect();
        let (chosen, left_out) = choose(rows, 5.0);
        assert_eq!((chosen.len(), left_out), (5, 0));
        assert!(chosen.iter().any(|r| r.name == "8") && chosen.iter().all(|r| !r.differs));
    }
}
