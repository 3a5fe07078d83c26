//! Which part of a run is measured: pure, from the run's own intervals.

use load::outcome::traffic::Traffic;
use load::{Interval, Outcome};

use crate::statistics::batch_means::{RunMean, run_mean};
use crate::statistics::change_points::{Search, change_points};
use crate::statistics::stalls::stalls;
use crate::statistics::summary::median;
use crate::statistics::warm_up;
use crate::trial::{WarmUp, Within};

/// The measured window of a run, CLOCK_MONOTONIC ns, and how its start was found. What lies before `in_force_ns` is left out in any case: the
/// arm was not in force yet. It is part of the warm-up, so that the window is no shorter for it.
pub fn measured(outcome: &Outcome, warm_up_cap_s: f64, in_force_ns: u64) -> (u64, u64, WarmUp) {
    if !outcome.operations.is_empty() {
        let how = "a sequence is measured whole: how it begins is part of it".into();
        return (outcome.from_ns, outcome.to_ns, WarmUp { left_out_s: Some(0.0), capped: false, how });
    }
    if outcome.breach.is_some() {
        let how = "a guard ended it, and what it saw by then is shown whole".into();
        return (outcome.from_ns, outcome.to_ns, WarmUp { left_out_s: Some(0.0), capped: false, how });
    }
    if outcome.intervals.is_empty() && outcome.traffic.is_some() {
        return unseen(outcome, warm_up_cap_s, in_force_ns);
    }
    let Some(first) = outcome.intervals.first() else {
        let how = "the load tool reports only its final figure, so a slow start cannot be seen: use its own warm-up option";
        return (outcome.from_ns, outcome.to_ns, WarmUp { left_out_s: None, capped: false, how: how.into() });
    };
    let latencies = outcome.traffic.as_ref().and_then(|traffic| latencies(traffic, outcome.intervals.len()));
    // Under its own traffic a server never warms up: what is left out is what one arm leaves to the next.
    let (of, series) = match latencies {
        Some(latencies) => ("the mean latency in", latencies),
        None => ("the rate in", outcome.intervals.iter().map(rate).collect()),
    };
    let before = outcome.intervals.partition_point(|i| i.from_ns < in_force_ns);
    let is_early = |i: &&Interval| i.to_ns.saturating_sub(first.from_ns) as f64 / 1e9 <= warm_up_cap_s;
    let cap = outcome.intervals.iter().filter(is_early).count().saturating_sub(before);
    let dropped = warm_up::leading_intervals(&series[before..], cap);
    let to_ns = outcome.intervals.last().map_or(outcome.to_ns, |i| i.to_ns);
    let from_ns = outcome.intervals.get(before + dropped).map_or(to_ns, |i| i.from_ns);
    let warm_up = WarmUp {
        left_out_s: Some(from_ns.saturating_sub(first.from_ns) as f64 / 1e9),
        capped: cap > 0 && dropped == cap,
        how: format!(
            "marginal standard error rule over {of} {} intervals, at most {cap} left out{}",
            series.len() - before,
            before_the_arm(before)
        ),
    };
    (from_ns, to_ns, warm_up)
}

/// That so many intervals lie before the arm was in force, in words; nothing of none.
fn before_the_arm(intervals: usize) -> String {
    match intervals {
        0 => String::new(),
        n => format!(", and {n} from before the arm was in force"),
    }
}

/// The window of a server's own traffic of which no requests are seen: what the arm before left is not seen either, so that all that may be
/// left out is.
fn unseen(outcome: &Outcome, cap_s: f64, in_force_ns: u64) -> (u64, u64, WarmUp) {
    let cap_ns = (cap_s.max(0.0) * 1e9) as u64;
    let from_ns = outcome.from_ns.saturating_add(cap_ns).max(in_force_ns).min(outcome.to_ns);
    let left_out_s = from_ns.saturating_sub(outcome.from_ns) as f64 / 1e9;
    let how = "requests are not seen, so that all that may be left out is".into();
    (from_ns, outcome.to_ns, WarmUp { left_out_s: Some(left_out_s), capped: false, how })
}

/// What the intervals of the measured window say of the run's own mean: by batch means, since neighbouring intervals are alike.
pub fn within(outcome: &Outcome, from_ns: u64, to_ns: u64) -> Option<Within> {
    let measured = outcome.intervals.iter().filter(|i| i.from_ns >= from_ns && i.to_ns <= to_ns);
    let rates: Vec<f64> = measured.clone().map(rate).collect();
    let lengths_s: Vec<f64> = measured.map(|i| i.to_ns.saturating_sub(i.from_ns) as f64 / 1e9).collect();
    let step_s = median(&lengths_s)?;
    let error_share = match run_mean(&rates) {
        RunMean::Known { mean, standard_error, .. } if mean > 0.0 => Some(standard_error / mean),
        _ => None,
    };
    let changes = change_points(&rates, Search::default()).changes.len();
    let stalls = stalls(&rates, step_s);
    Some(Within { intervals: rates.len(), error_share, changes, step_s, stalls })
}

/// The mean latency of each slice, us; of one without a request the median of the others. `None` where they are not those of `intervals`
/// intervals, or half of them had no request.
fn latencies(traffic: &Traffic, intervals: usize) -> Option<Vec<f64>> {
    let seen: Vec<Option<f64>> =
        traffic.slices.iter().map(|slice| slice.figures().get("latency_mean_us").copied()).collect();
    let known: Vec<f64> = seen.iter().flatten().copied().collect();
    let usual = median(&known).filter(|_| seen.len() == intervals && known.len() * 2 > seen.len())?;
    Some(seen.into_iter().map(|latency| latency.unwrap_or(usual)).collect())
}

fn rate(interval: &Interval) -> f64 {
    let length_s = interval.to_ns.saturating_sub(interval.from_ns) as f64 / 1e9;
    if length_s > 0.0 { interval.completed as f64 / length_s } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(completed: &[u64]) -> Outcome {
        let intervals = completed
            .iter()
            .enumerate()
            .map(|(i, completed)| Interval {
                from_ns: 1_000_000_000 + i as u64 * 100_000_000,
                to_ns: 1_100_000_000 + i as u64 * 100_000_000,
                completed: *completed,
                failed: 0,
                latency: String::new(),
            })
            .collect();
        Outcome { intervals, ..Outcome::default() }
    }

    #[test]
    fn a_slow_start_is_left_out_up_to_the_cap() {
        let outcome = run(&[10, 50, 100, 101, 99, 100, 101, 100, 99, 100]);
        let (from_ns, to_ns, warm_up) = measured(&outcome, 0.5, 0);
        assert_eq!((from_ns, to_ns), (1_200_000_000, 2_000_000_000));
        assert_eq!(warm_up.left_out_s, Some(0.2));
        assert!(!warm_up.capped);
        let (_, _, capped) = measured(&outcome, 0.1, 0);
        assert!(capped.capped && capped.left_out_s == Some(0.1), "{capped:?}");
    }

    #[test]
    fn under_its_own_traffic_what_the_arm_before_left_is_seen_in_the_latency() {
        use load::outcome::traffic::SliceSums;

        let mut outcome = run(&[90, 140, 100, 60, 120, 100, 80, 130, 100, 95]);
        let slice = |(interval, us): (&Interval, u64)| SliceSums {
            from_ns: interval.from_ns,
            to_ns: interval.to_ns,
            read: interval.completed,
            answered: interval.completed,
            served_ns: interval.completed * us * 1_000,
            ..SliceSums::default()
        };
        let us = [900, 400, 100, 101, 100, 99, 100, 101, 100, 99];
        let slices = outcome.intervals.iter().zip(us).map(slice).collect();
        outcome.traffic = Some(Traffic { slices, ..Traffic::default() });
        let (from_ns, _, warm_up) = measured(&outcome, 0.5, 0);
        assert_eq!((from_ns, warm_up.left_out_s), (1_200_000_000, Some(0.2)));
        assert!(warm_up.how.contains("latency"), "{}", warm_up.how);
    }

    #[test]
    fn where_requests_are_not_seen_all_that_may_be_left_out_is() {
        let outcome = Outcome {
            from_ns: 1_000_000_000,
            to_ns: 5_000_000_000,
            traffic: Some(Traffic::default()),
            ..Outcome::default()
        };
        let (from_ns, to_ns, warm_up) = measured(&outcome, 2.0, 0);
        assert_eq!((from_ns, to_ns, warm_up.left_out_s), (3_000_000_000, 5_000_000_000, Some(2.0)));
    }

    #[test]
    fn what_lies_before_the_arm_was_in_force_is_left_out_and_makes_the_window_no_shorter() {
        let outcome = run(&[50, 50, 90, 100, 101, 99, 100, 101, 100, 99]);
        // In the middle of the second interval, so that the third is the first that counts.
        let (from_ns, to_ns, warm_up) = measured(&outcome, 0.4, 1_150_000_000);
        assert!((1_200_000_000..=1_400_000_000).contains(&from_ns), "{from_ns}");
        assert_eq!(to_ns, 2_000_000_000);
        assert!(warm_up.how.contains("at most 2 left out, and 2 from before"), "{}", warm_up.how);
        let (from_ns, ..) = measured(&outcome, 0.1, 1_700_000_000);
        assert_eq!(from_ns, 1_700_000_000, "later than all of the warm-up");
        let (from_ns, _, whole) = measured(&outcome, 0.0, 1_000_000_000);
        assert_eq!((from_ns, whole.left_out_s), (1_000_000_000, Some(0.0)), "in force from the start on");
        assert!(!whole.how.contains("before the arm"), "{}", whole.how);
        let (from_ns, to_ns, _) = measured(&outcome, 0.4, 3_000_000_000);
        assert_eq!(from_ns, to_ns, "nothing is left of it");
        let unseen = Outcome {
            from_ns: 1_000_000_000,
            to_ns: 5_000_000_000,
            traffic: Some(Traffic::default()),
            ..Outcome::default()
        };
        assert_eq!(measured(&unseen, 2.0, 3_500_000_000).0, 3_500_000_000);
    }

    #[test]
    fn without_intervals_the_whole_run_counts_and_says_so() {
        let outcome = Outcome { from_ns: 5, to_ns: 9, ..Outcome::default() };
        let (from_ns, to_ns, warm_up) = measured(&outcome, 1.0, 0);
        assert_eq!((from_ns, to_ns), (5, 9));
        assert!(warm_up.left_out_s.is_none() && warm_up.how.contains("warm-up option"));
    }
}
