//! Figures out of JSON and of the kernel's own counters, and how far two may lie apart.

use serde_json::Value;

use super::actor::{Actor, now_ns};
use super::watching::Sheet;

/// A number of the sheet; a missing one fails the test.
pub fn number(value: &Value) -> u64 {
    value.as_u64().unwrap_or_else(|| panic!("{value} is not a number"))
}

/// `reported` is `true_` up to a share, and up to `slack` of whatever unit.
#[track_caller]
pub fn assert_near(what: &str, reported: u64, true_: u64, share: f64, slack: u64) {
    eprintln!(
        "{what}: watch {reported}, truth {true_} ({:+.3} %)",
        (reported as f64 / true_ as f64 - 1.0) * 100.0
    );
    let apart = reported.abs_diff(true_);
    assert!(apart as f64 <= true_ as f64 * share + slack as f64, "{what}: watch {reported}, truth {true_}");
}

/// `reported` lies between what a counter rose by within the window and what it rose by around it.
#[track_caller]
pub fn assert_between(what: &str, reported: u64, inner: u64, outer: u64) {
    eprintln!("{what}: watch {reported}, the kernel's counter {inner} within the window, {outer} around it");
    assert!((inner..=outer).contains(&reported), "{what}: watch {reported}, not in {inner}..={outer}");
}

/// Of a thousand events on a guest some few are not handed to the programs, and the kernel counts no miss (docs/watch.md).
pub const NOT_HANDED_OVER: f64 = 0.005;

/// How many of so many events the programs got at least.
pub fn handed_over(events: u64) -> u64 {
    events - (events as f64 * NOT_HANDED_OVER).ceil() as u64
}

/// A counter at a moment of CLOCK_MONOTONIC, ns.
#[derive(Clone, Copy)]
pub struct Reading {
    pub at_ns: u64,
    pub count: u64,
}

impl Reading {
    /// Reads it now: what comes later is not in it.
    pub fn now(counter: impl FnOnce() -> u64) -> Self {
        Self { at_ns: now_ns(), count: counter() }
    }
}

/// The same for four readings, in order: the middle two have to lie in the window. Some few events may be missing.
#[track_caller]
pub fn assert_counted(what: &str, reported: u64, sheet: &Sheet, [before, first, last, after]: [Reading; 4]) {
    let inside = sheet.has(first.at_ns) && sheet.has(last.at_ns);
    assert!(inside, "the window did not begin or end in time: a machine too busy for this test");
    let inner = last.count - first.count;
    eprintln!("{what}: {} not seen", inner.saturating_sub(reported));
    assert_between(what, reported, handed_over(inner), after.count - before.count);
}

/// A counter as it was found between two moments of CLOCK_MONOTONIC, ns.
pub struct Found {
    from_ns: u64,
    to_ns: u64,
    count: u64,
}

/// Reads a counter again and again, some fifty times a second, once more when it is stopped. So there are readings close to both ends of a window
/// whenever it begins and ends, however busy the machine is.
pub fn keep_reading(cpu: u32, counter: impl Fn() -> u64 + Send + 'static) -> Actor<Vec<Found>> {
    Actor::start("reads", cpu, move |until| {
        let read = || {
            let (from_ns, count) = (now_ns(), counter());
            Found { from_ns, to_ns: now_ns(), count }
        };
        let mut found = Vec::with_capacity(2_000);
        while until.goes_on() {
            found.push(read());
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        found.push(read());
        found
    })
}

/// What such a counter rose by between the outermost readings within a window, and between the innermost ones around it.
fn rose(found: &[Found], (from_ns, to_ns): (u64, u64)) -> Option<(u64, u64)> {
    let first = found.iter().find(|reading| reading.from_ns >= from_ns)?;
    let last = found.iter().rfind(|reading| reading.to_ns <= to_ns)?;
    let before = found.iter().rfind(|reading| reading.to_ns <= from_ns)?;
    let after = found.iter().find(|reading| reading.from_ns >= to_ns)?;
    Some((last.count.saturating_sub(first.count), after.count - before.count))
}

/// `reported` is what the counter rose by in the window. Some few events may be missing.
#[track_caller]
pub fn assert_counted_by(what: &str, reported: u64, sheet: &Sheet, found: &[Found]) {
    let (inner, outer) = rose(found, sheet.window()).expect("readings around the window");
    eprintln!("{what}: {} not seen", inner.saturating_sub(reported));
    assert_between(what, reported, handed_over(inner), outer);
}

/// A row of /proc/interrupts on one CPU, by its first word (`LOC`, `32`).
pub fn interrupts(row: &str, cpu: u32) -> u64 {
    column("/proc/interrupts", row, cpu)
}

/// A row of /proc/softirqs on one CPU.
pub fn softirqs(row: &str, cpu: u32) -> u64 {
    column("/proc/softirqs", row, cpu)
}

fn column(file: &str, row: &str, cpu: u32) -> u64 {
    let text = std::fs::read_to_string(file).unwrap();
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(&format!("{row}:")));
    let at = text.lines().next().unwrap().split_whitespace().position(|name| name == format!("CPU{cpu}"));
    line.and_then(|line| line.split_whitespace().nth(at?)?.parse().ok()).unwrap_or(0)
}
