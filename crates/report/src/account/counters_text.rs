//! What the counters of /proc show of a window, for people: how often, not how long.

use probe::observation::{Counter, Observation, ThreadSeen};

use crate::account::changed_cpus;
use crate::grid::{self, Side};
use crate::visible::one_line;
use crate::{absent, number};

/// How many rows of a kind are shown.
const SHOWN: usize = 12;

/// The whole observation.
pub fn render(seen: &Observation, title: &str) -> String {
    let mut text = format!(
        "{}, {} s - by the counters of /proc alone: how often, not how long\n",
        one_line(title),
        number::grouped(seen.window_s(), 1)
    );
    for section in [
        changed_cpus::lines(&seen.changed_cpus),
        threads(seen),
        counters(seen, "stat", "CPU time, us"),
        counters(seen, "interrupts", "Interrupts"),
        counters(seen, "softirqs", "Softirqs"),
        absent::section(&seen.missing),
    ] {
        if !section.is_empty() {
            text.push('\n');
            text.push_str(&section);
        }
    }
    text
}

fn threads(seen: &Observation) -> String {
    if seen.threads.is_empty() {
        return String::new();
    }
    let head = ["USER", "SYSTEM", "WAITED", "PREEMPTED", "SLEPT", "MIGRATED", "TID", "NAME"];
    let mut rows = vec![head.map(String::from).to_vec()];
    let mut threads: Vec<&ThreadSeen> = seen.threads.iter().collect();
    threads
        .sort_by_key(|thread| std::cmp::Reverse(thread.user_us.unwrap_or(0) + thread.system_us.unwrap_or(0)));
    let us = |value: Option<u64>| {
        value.map_or("-".into(), |us| format!("{} ms", number::grouped(us as f64 / 1e3, 1)))
    };
    let times = |value: Option<u64>| value.map_or("-".into(), |times| number::grouped(times as f64, 0));
    rows.extend(threads.iter().take(SHOWN).map(|thread| {
        vec![
            us(thread.user_us),
            us(thread.system_us),
            us(thread.waited_us),
            times(thread.involuntary_switches),
            times(thread.voluntary_switches),
            times(thread.migrations),
            thread.tid.to_string(),
            one_line(&thread.comm).into_owned(),
        ]
    }));
    let mut sides = vec![Side::Right; head.len() - 1];
    sides.push(Side::Left);
    format!(
        "Threads (PREEMPTED and SLEPT: involuntary and voluntary switches)\n{}",
        grid::lines(&sides, &rows, 2)
    )
}

/// Rows of one probe, by CPU, those that moved most first.
fn counters(seen: &Observation, probe: &str, title: &str) -> String {
    let mut moved: Vec<&Counter> = seen.counters.iter().filter(|counter| counter.probe == probe).collect();
    let sum = |counter: &&Counter| counter.by_cpu.values().sum::<u64>();
    moved.sort_by_key(|counter| std::cmp::Reverse(sum(counter)));
    if moved.is_empty() {
        return String::new();
    }
    let mut rows = vec![["ALL", "BUSIEST CPU", "ROW", ""].map(String::from).to_vec()];
    rows.extend(moved.iter().take(SHOWN).map(|counter| {
        let busiest = counter.by_cpu.iter().max_by_key(|(_, times)| **times);
        let busiest = busiest
            .map_or("-".into(), |(cpu, times)| format!("{} on {cpu}", number::grouped(*times as f64, 0)));
        vec![
            number::grouped(sum(counter) as f64, 0),
            busiest,
            one_line(&counter.name).into_owned(),
            one_line(&counter.label).into_owned(),
        ]
    }));
    format!("{title}\n{}", grid::lines(&[Side::Right, Side::Right, Side::Left, Side::Left], &rows, 2))
}
