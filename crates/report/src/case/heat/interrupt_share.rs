//! How much of each CPU's time interrupts took while the study ran.

use std::collections::BTreeMap;

use probe::Observation;
use study::Facts;
use study::statistics::summary::median;

/// Rows of /proc/stat that are the time of interrupts and of what they leave to be done.
const ROWS: [&str; 2] = ["irq", "softirq"];

/// Why no share is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unknown {
    /// No trial has an observation.
    NotObserved,
    /// The observations are without the time of interrupts.
    NotRead,
}

/// The share of each CPU's time that interrupts took, 0 to 1 (irq and softirq of /proc/stat): the median over all trials, whichever
/// placement ran in them. A CPU of which it is not known is not in it.
///
/// # Errors
/// It is known of no CPU.
pub fn read(facts: &Facts) -> Result<BTreeMap<u32, f64>, Unknown> {
    let observations: Vec<&Observation> =
        facts.trials.iter().filter_map(|seen| seen.observation.as_ref()).collect();
    if observations.is_empty() {
        return Err(Unknown::NotObserved);
    }
    let times: Vec<Times> = observations.into_iter().filter_map(Times::of).collect();
    let share = |cpu: u32| median(&times.iter().filter_map(|times| times.share(cpu)).collect::<Vec<_>>());
    let known = facts.machine.cpus.iter().filter_map(|cpu| Some((cpu.id, share(cpu.id)?)));
    let known: BTreeMap<u32, f64> = known.collect();
    if known.is_empty() { Err(Unknown::NotRead) } else { Ok(known) }
}

/// The rows of one observation, looked up once.
struct Times<'a> {
    observation: &'a Observation,
    /// Of each row the time by CPU, us; `None` of one that stood still.
    rows: [Option<&'a BTreeMap<u32, u64>>; 2],
}

impl<'a> Times<'a> {
    /// `None` where a row was not read: the other alone would say too little.
    fn of(observation: &'a Observation) -> Option<Self> {
        let row = |name: &str| match observation.counter("stat", name) {
            Some(counter) => Some(Some(&counter.by_cpu)),
            None => observation.still.iter().any(|still| *still == format!("stat/{name}")).then_some(None),
        };
        let [irq, softirq] = ROWS.map(row);
        (observation.window_s() > 0.0).then_some(Self { observation, rows: [irq?, softirq?] })
    }

    fn share(&self, cpu: u32) -> Option<f64> {
        let mut us = 0.0;
        for row in self.rows.iter().flatten() {
            us += *row.get(&cpu)? as f64;
        }
        let online_us = self.observation.window_s() * self.observation.online_share(cpu) * 1e6;
        (online_us > 0.0).then(|| (us / online_us).clamp(0.0, 1.0))
    }
}

#[cfg(test)]
mod tests {
    use probe::Counter;

    use super::*;

    fn observation(irq_us: Option<u64>, softirq_us: &[(u32, u64)]) -> Observation {
        let counter = |name: &str, by_cpu: BTreeMap<u32, u64>| Counter {
            probe: "stat".into(),
            name: name.into(),
            label: String::new(),
            unit: "us".into(),
            by_cpu,
        };
        let mut counters = vec![counter("softirq", softirq_us.iter().copied().collect())];
        counters.extend(irq_us.map(|us| counter("irq", BTreeMap::from([(0, us)]))));
        Observation { to_ns: 2_000_000_000, counters, ..Observation::default() }
    }

    #[test]
    fn both_rows_add_up_and_a_cpu_without_one_of_them_is_not_known() {
        let seen = observation(Some(100_000), &[(0, 300_000), (1, 500_000)]);
        let times = Times::of(&seen).unwrap();
        assert_eq!((times.share(0), times.share(1), times.share(2)), (Some(0.2), None, None));
    }

    #[test]
    fn a_row_that_stood_still_is_zero_and_one_that_was_not_read_is_missing() {
        let mut seen = observation(None, &[(0, 300_000), (1, 0)]);
        assert!(Times::of(&seen).is_none());
        seen.still.push("stat/irq".into());
        let times = Times::of(&seen).unwrap();
        assert_eq!((times.share(0), times.share(1)), (Some(0.15), Some(0.0)));
    }
}
