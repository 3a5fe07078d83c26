//! One row a trial, counter of the kernel and CPU, over the measured window.

use std::borrow::Cow;

use probe::{Counter, Observation, SystemCounter};

use super::of_trial::OfTrial;
use crate::account::account_tables::Cell;

/// A counter on a CPU, or of the whole machine.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Line<'a> {
    probe: &'a str,
    name: &'a str,
    label: &'a str,
    /// `None` of a counter that stood still, whose unit is not recorded.
    unit: Option<&'a str>,
    cpu: Option<u32>,
    value: u64,
}

/// None of a trial that was not observed.
pub(super) fn rows(of: &OfTrial<'_>) -> Vec<Vec<Cell>> {
    let Some(observation) = of.observation else { return Vec::new() };
    lines(observation).iter().map(|line| row(of, line)).collect()
}

fn lines(observation: &Observation) -> Vec<Line<'_>> {
    let moved = observation.counters.iter().flat_map(on_cpus);
    let still = observation.still.iter().filter_map(|row| {
        let (probe, name) = row.split_once('/')?;
        Some(Line { probe, name, ..Line::default() })
    });
    moved.chain(still).chain(observation.system.iter().map(of_machine)).collect()
}

fn on_cpus(counter: &Counter) -> impl Iterator<Item = Line<'_>> {
    let Counter { probe, name, label, unit, by_cpu } = counter;
    by_cpu.iter().map(move |(cpu, value)| Line {
        probe,
        name,
        label,
        unit: Some(unit.as_str()),
        cpu: Some(*cpu),
        value: *value,
    })
}

fn of_machine(counter: &SystemCounter) -> Line<'_> {
    let SystemCounter { probe, name, label, unit, value } = counter;
    Line { probe, name, label, unit: Some(unit.as_str()), cpu: None, value: *value }
}

/// An empty text says nothing.
fn words(text: &str) -> Option<Cow<'_, str>> {
    (!text.is_empty()).then_some(text.into())
}

pub(super) fn row(of: &OfTrial<'_>, line: &Line<'_>) -> Vec<Cell> {
    of.before([
        Cell::text("probe", words(line.probe)),
        Cell::text("counter", words(line.name)),
        Cell::text("label", words(line.label)),
        Cell::text("unit", line.unit.and_then(words)),
        Cell::whole("cpu", line.cpu.map(u64::from)),
        Cell::whole("value", line.value),
    ])
}
