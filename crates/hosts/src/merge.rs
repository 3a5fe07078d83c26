//! One outcome of the parts that several processes on several hosts have measured.

mod printed;

use std::collections::BTreeMap;

use load::outcome::unit_of;
use load::{Interval, Outcome};
use machine::{Class, Fault};

use crate::clock::Estimate;

pub use self::printed::of_commands;

/// What one process measured, by this host's clock.
#[derive(Debug, Clone)]
pub struct PartOutcome {
    /// The host.
    pub host: String,
    /// Number of the process on it, from 0.
    pub process: usize,
    /// What it measured.
    pub outcome: Outcome,
}

/// The same outcome with its times by our clock.
pub fn shifted(mut outcome: Outcome, clock: &Estimate) -> Outcome {
    outcome.from_ns = clock.here(outcome.from_ns);
    outcome.to_ns = clock.here(outcome.to_ns);
    for interval in &mut outcome.intervals {
        interval.from_ns = clock.here(interval.from_ns);
        interval.to_ns = clock.here(interval.to_ns);
    }
    outcome
}

/// All parts as one: requests are added up, histograms are merged, of `client_busy` the busiest counts, and latencies and rates follow from
/// what is merged.
///
/// The intervals of all parts are of one length and begin at the same moment but for what clocks and processes differ; the first part's
/// bounds stand for all. The last of each part, which its end cuts short, is left out.
///
/// # Errors
/// There are no parts; one has measured nothing, or intervals of another length; a histogram cannot be read.
pub fn merged(mut parts: Vec<PartOutcome>) -> Result<Outcome, Fault> {
    parts.iter_mut().for_each(|part| drop_what_is_cut(&mut part.outcome.intervals));
    let shortest = parts.iter().map(|part| part.outcome.intervals.len()).min().unwrap_or(0);
    if let Some(empty) = parts.iter().find(|part| part.outcome.intervals.is_empty()) {
        let object = format!("host {}: process {}", empty.host, empty.process);
        return Err(Fault::new(
            Class::WorkloadFailed,
            object,
            "measured nothing",
            "see whether it was starved",
        ));
    }
    let busiest_part = busiest(&parts);
    let mut parts = parts.into_iter();
    let Some(first) = parts.next() else { return Err(no_parts()) };
    let mut whole = first.outcome;
    // The last intervals of a part that ended earlier have no counterpart.
    whole.intervals.truncate(shortest);
    let mut figures = vec![std::mem::take(&mut whole.figures)];
    for part in parts {
        for (own, other) in whole.intervals.iter_mut().zip(&part.outcome.intervals) {
            same_length(own, other, &part.host)?;
            own.add(other);
        }
        whole.from_ns = whole.from_ns.min(part.outcome.from_ns);
        whole.to_ns = whole.to_ns.max(part.outcome.to_ns);
        whole.first_answer = whole.first_answer.or(part.outcome.first_answer);
        whole.missing.extend(part.outcome.missing);
        figures.push(part.outcome.figures);
    }
    (whole.figures, whole.busiest_part) = (of_all(&figures), busiest_part);
    // Latencies and rates of the whole run: of the histograms, for percentiles cannot be added.
    let from_merged = whole
        .window(whole.from_ns, whole.to_ns)
        .map_err(|missing| Fault::new(Class::WorkloadFailed, missing.fact, missing.why, machine::IS_A_BUG))?;
    let beside = ["completed", "failed"];
    whole.figures.extend(from_merged.into_iter().filter(|(name, _)| !beside.contains(&name.as_str())));
    let units = whole.figures.keys().filter_map(|name| Some((name.clone(), unit_of(name)?.to_string())));
    whole.units = units.collect();
    Ok(whole)
}

fn no_parts() -> Fault {
    let remedy = machine::IS_A_BUG;
    Fault::new(Class::WorkloadFailed, "load on other hosts", "there were no parts", remedy)
}

/// The process that was busiest, in words.
fn busiest(parts: &[PartOutcome]) -> Option<String> {
    let busy = |part: &PartOutcome| part.outcome.figures.get("client_busy").copied();
    let busiest = parts.iter().filter(|part| busy(part).is_some()).max_by(|a, b| {
        let (a, b) = (busy(a).unwrap_or(0.0), busy(b).unwrap_or(0.0));
        a.total_cmp(&b)
    })?;
    Some(format!("host {}, process {}", busiest.host, busiest.process))
}

/// Drops the last interval where it is shorter than the first; a run of a single interval keeps it.
fn drop_what_is_cut(intervals: &mut Vec<Interval>) {
    let (Some(first), Some(last)) = (intervals.first(), intervals.last()) else { return };
    if intervals.len() > 1 && length_ns(last) < length_ns(first) - length_ns(first) / 10 {
        intervals.pop();
    }
}

fn length_ns(interval: &Interval) -> u64 {
    interval.to_ns.saturating_sub(interval.from_ns)
}

/// Intervals that differ by more than a tenth of their length are not of the same load.
fn same_length(own: &Interval, other: &Interval, host: &str) -> Result<(), Fault> {
    let (own_ns, other_ns) = (length_ns(own), length_ns(other));
    if own_ns.abs_diff(other_ns) <= own_ns / 10 {
        return Ok(());
    }
    let cause = format!("an interval of {other_ns} ns stands beside one of {own_ns} ns");
    let remedy = machine::IS_A_BUG;
    Err(Fault::new(Class::WorkloadFailed, format!("host {host}"), cause, remedy))
}

/// Counts and CPU times of all, and of how busy one was the busiest. Whatever else a process says is of that process alone.
fn of_all(parts: &[BTreeMap<String, f64>]) -> BTreeMap<String, f64> {
    let mut all: BTreeMap<String, f64> = BTreeMap::new();
    for (name, value) in parts.iter().flatten() {
        let is_count = matches!(name.as_str(), "completed" | "unfinished" | "client_cpu_s")
            || name.starts_with("failed");
        match name.as_str() {
            _ if is_count => *all.entry(name.clone()).or_default() += value,
            "client_busy" => {
                let busiest = all.entry(name.clone()).or_insert(*value);
                *busiest = busiest.max(*value);
            }
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use load::latency::Latency;

    use super::*;

    /// Intervals of 100 ms from `from_ns` on, each with these latencies.
    fn part(host: &str, from_ns: u64, intervals: &[&[u64]], busy: f64) -> PartOutcome {
        let interval = |(number, latencies): (usize, &&[u64])| {
            let mut histogram = Latency::new();
            latencies.iter().for_each(|us| histogram.record_ns(us * 1_000));
            let from_ns = from_ns + number as u64 * 100_000_000;
            Interval {
                from_ns,
                to_ns: from_ns + 100_000_000,
                completed: latencies.len() as u64,
                failed: 1,
                latency: histogram.to_text(),
            }
        };
        let all: usize = intervals.iter().map(|latencies| latencies.len()).sum();
        let figures = [
            ("client_busy", busy),
            ("client_cpu_s", 0.5),
            ("completed", all as f64),
            ("failed", intervals.len() as f64),
            ("failed_reset", intervals.len() as f64),
            ("latency_p50_us", 77.0),
        ];
        let outcome = Outcome {
            figures: figures.map(|(name, value)| (name.to_string(), value)).into(),
            intervals: intervals.iter().enumerate().map(interval).collect(),
            from_ns,
            to_ns: from_ns + intervals.len() as u64 * 100_000_000,
            ..Outcome::default()
        };
        PartOutcome { host: host.into(), process: 0, outcome }
    }

    #[test]
    fn requests_are_added_up_and_histograms_merged() {
        let whole = merged(vec![
            part("b", 1_000, &[&[10, 20], &[10]], 0.5),
            part("c", 3_000, &[&[1_000], &[1_000, 1_000, 1_000]], 0.7),
        ])
        .unwrap();
        let figure = |name: &str| whole.figures[name];
        assert_eq!((figure("completed"), figure("failed"), figure("failed_reset")), (7.0, 4.0, 4.0));
        assert_eq!((figure("client_busy"), figure("client_cpu_s")), (0.7, 1.0));
        assert_eq!(whole.busiest_part.as_deref(), Some("host c, process 0"));
        assert_eq!((whole.from_ns, whole.intervals.len()), (1_000, 2));
        assert_eq!(whole.intervals.iter().map(|i| i.completed).collect::<Vec<_>>(), [3, 4]);
        assert!((figure("requests_per_s") - 35.0).abs() < 0.01, "{:?}", whole.figures);
        assert!(figure("latency_p50_us") > 900.0, "of all seven, not of one part: {:?}", whole.figures);
        assert_eq!(whole.units["latency_p50_us"], "us");
    }

    #[test]
    fn what_the_end_of_a_part_cuts_short_is_left_out() {
        let mut cut = part("b", 0, &[&[10], &[10, 10]], 0.5);
        cut.outcome.intervals[1].to_ns -= 90_000_000;
        let whole = merged(vec![cut, part("c", 0, &[&[10], &[10]], 0.5)]).unwrap();
        assert_eq!(whole.intervals.iter().map(|i| i.completed).collect::<Vec<_>>(), [2]);
        assert_eq!(whole.figures["completed"], 5.0, "counts are of the whole run");
    }

    #[test]
    fn one_part_is_the_whole() {
        let alone = part("b", 0, &[&[10], &[20]], 0.5);
        let whole = merged(vec![alone.clone()]).unwrap();
        assert_eq!(whole.intervals, alone.outcome.intervals);
        assert_eq!(whole.figures["completed"], 2.0);
    }

    #[test]
    fn what_measured_nothing_or_otherwise_is_an_error_by_host() {
        let why = |parts| merged(parts).unwrap_err().to_string();
        assert!(why(vec![part("b", 0, &[&[1]], 0.1), part("c", 0, &[], 0.1)]).contains("host c"));
        let mut other = part("c", 0, &[&[1]], 0.1);
        other.outcome.intervals[0].to_ns *= 2;
        assert!(why(vec![part("b", 0, &[&[1]], 0.1), other]).contains("host c"));
        assert!(merged(Vec::new()).is_err());
    }

    #[test]
    fn times_of_another_clock_become_ours() {
        let clock = Estimate { offset_ns: -5_000, error_ns: 10, drift_ppm: None };
        let there = part("b", 0, &[&[1]], 0.1).outcome;
        let here = shifted(there.clone(), &clock);
        assert_eq!((here.from_ns, here.intervals[0].to_ns), (5_000, there.intervals[0].to_ns + 5_000));
    }

    proptest::proptest! {
        #[test]
        fn no_request_is_lost_or_made_by_merging(counts in proptest::collection::vec(
            proptest::collection::vec(0usize..5, 3), 1..5,
        )) {
            let latencies = [5u64, 6, 7, 8, 9];
            let parts: Vec<PartOutcome> = counts
                .iter()
                .map(|of_part| {
                    let of_part: Vec<&[u64]> = of_part.iter().map(|n| &latencies[..*n]).collect();
                    part("b", 0, &of_part, 0.1)
                })
                .collect();
            let whole = merged(parts).unwrap();
            let asked: usize = counts.iter().flatten().sum();
            let merged: u64 = whole.intervals.iter().map(|interval| interval.completed).sum();
            proptest::prop_assert_eq!(merged, asked as u64);
            proptest::prop_assert_eq!(whole.figures["completed"], asked as f64);
        }
    }
}
