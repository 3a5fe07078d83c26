//! Stalls of a run: intervals in which much less is completed than usual, and whether they come at regular distances.
//!
//! A garbage collection, a checkpoint, the flush of a journal and a timer stall a server again and again, at the same distance. Stalls that
//! come by chance do not: their distances are scattered. Whether distances are closer to each other than chance makes them is tested by
//! putting as many stalls at random places of the same runs.

use serde::{Deserialize, Serialize};

use super::draws::Draws;
use super::summary::median;

/// An interval with less than this share of the median rate is a stall.
const LOW: f64 = 0.75;
/// A run in which more than this share of the intervals is low has no usual rate.
const MOST_LOW: f64 = 0.25;
/// An interval in which usually fewer than these are completed differs from the next by chance, or by rounding.
const LEAST_COMPLETED: f64 = 20.0;
/// Fewer intervals than these have no usual rate either.
const LEAST_INTERVALS: usize = 8;
/// Stalls of a run that are kept.
const MOST_STALLS: usize = 64;

/// Fewer distances than these say nothing of regularity.
const LEAST_GAPS: usize = 3;
/// Random placements; the smallest p is one of them plus one, so that a study may have a hundred arms.
const DRAWS: usize = 9_999;
/// Intervals of a run that are distinguished: a day of them, whatever a case says.
const MOST_INTERVALS: usize = 1 << 20;
/// Distances may be off by this share of the period on average.
const MOST_SPREAD: f64 = 0.15;

/// A stall of a run.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stall {
    /// When it began, s from the beginning of the measured window; to the length of an interval.
    pub at_s: f64,
    /// The time that was lost: the work that is missing, at the usual rate, s.
    pub lost_s: f64,
}

/// The stalls of a run by the rates of its intervals, each `step_s` long, in order of time; at most 64. The first and the last interval make
/// none: the load begins and ends in them.
pub fn stalls(rates: &[f64], step_s: f64) -> Vec<Stall> {
    let is_usual = |usual: &f64| usual * step_s >= LEAST_COMPLETED && rates.len() >= LEAST_INTERVALS;
    let Some(usual) = median(rates).filter(is_usual) else {
        return Vec::new();
    };
    let is_low = |rate: &f64| *rate < LOW * usual;
    if rates.iter().filter(|rate| is_low(rate)).count() as f64 > MOST_LOW * rates.len() as f64 {
        return Vec::new();
    }
    let mut found: Vec<Stall> = Vec::new();
    let mut before_is_low = false;
    for (place, rate) in rates.iter().enumerate() {
        let lost_s = (1.0 - rate / usual) * step_s;
        if place == 0 || place + 1 == rates.len() {
            continue;
        }
        match (is_low(rate), before_is_low, found.last_mut()) {
            (true, true, Some(stall)) => stall.lost_s += lost_s,
            (true, ..) => found.push(Stall { at_s: place as f64 * step_s, lost_s }),
            _ => {}
        }
        before_is_low = is_low(rate);
    }
    found.truncate(MOST_STALLS);
    found
}

/// Stalls of one run.
#[derive(Debug, Clone, Copy)]
pub struct Run<'a> {
    /// Its stalls.
    pub stalls: &'a [Stall],
    /// Intervals of its window.
    pub intervals: usize,
    /// Length of an interval, s.
    pub step_s: f64,
}

/// Stalls at regular distances.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Regular {
    /// The distance between two, s: the median.
    pub period_s: f64,
    /// What each takes, s: the median.
    pub lost_s: f64,
    /// How many there were.
    pub stalls: usize,
    /// How likely chance makes the distances as equal.
    pub p: f64,
}

/// Whether the stalls of these runs come at regular distances; `None` where they do not, or are too few to tell. The same runs give the
/// same answer.
pub fn regular(runs: &[Run<'_>]) -> Option<Regular> {
    let places: Vec<Vec<usize>> = runs.iter().map(places).collect();
    let gaps_s = gaps(&places, runs);
    let (period_s, spread) = spread(&gaps_s)?;
    if spread > MOST_SPREAD {
        return None;
    }
    let mut draws = Draws::new(runs.len() as u64);
    let as_equal = (0..DRAWS).filter(|_| {
        let drawn: Vec<Vec<usize>> = runs
            .iter()
            .zip(&places)
            .map(|(run, places)| draws.some_in_order(run.intervals.min(MOST_INTERVALS), places.len()))
            .collect();
        self::spread(&gaps(&drawn, runs)).is_some_and(|(_, of_chance)| of_chance <= spread)
    });
    let p = (as_equal.count() + 1) as f64 / (DRAWS + 1) as f64;
    let lost: Vec<f64> = runs.iter().flat_map(|run| run.stalls).map(|stall| stall.lost_s).collect();
    Some(Regular { period_s, lost_s: median(&lost)?, stalls: lost.len(), p })
}

/// The intervals in which stalls begin.
fn places(run: &Run<'_>) -> Vec<usize> {
    let place = |stall: &Stall| (stall.at_s / run.step_s).round().max(0.0) as usize;
    run.stalls
        .iter()
        .take(MOST_STALLS)
        .map(place)
        .filter(|place| *place < run.intervals.min(MOST_INTERVALS))
        .collect()
}

/// Distances between stalls of the same run, s.
fn gaps(places: &[Vec<usize>], runs: &[Run<'_>]) -> Vec<f64> {
    let of_run = |(places, run): (&Vec<usize>, &Run<'_>)| {
        let gaps: Vec<f64> =
            places.windows(2).map(|pair| pair[1].saturating_sub(pair[0]) as f64 * run.step_s).collect();
        gaps
    };
    places.iter().zip(runs).flat_map(of_run).collect()
}

/// The median distance, and by which share of it the distances are off on average.
fn spread(gaps_s: &[f64]) -> Option<(f64, f64)> {
    let period_s = median(gaps_s).filter(|period_s| gaps_s.len() >= LEAST_GAPS && *period_s > 0.0)?;
    let off_s: f64 = gaps_s.iter().map(|gap_s| (gap_s - period_s).abs()).sum();
    Some((period_s, off_s / gaps_s.len() as f64 / period_s))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rates of `intervals` tenths of a second, those at `low` near 0.
    fn rates(intervals: usize, low: impl Fn(usize) -> bool, noise: &mut Draws) -> Vec<f64> {
        (0..intervals).map(|place| if low(place) { 150.0 } else { 1_000.0 + noise.normal() * 50.0 }).collect()
    }

    fn of_rates(all: &[Vec<f64>]) -> Option<Regular> {
        let found: Vec<Vec<Stall>> = all.iter().map(|rates| stalls(rates, 0.1)).collect();
        let runs: Vec<Run<'_>> = found
            .iter()
            .zip(all)
            .map(|(stalls, rates)| Run { stalls, intervals: rates.len(), step_s: 0.1 })
            .collect();
        regular(&runs)
    }

    #[test]
    fn neighbouring_low_intervals_are_one_stall_and_its_loss_is_what_is_missing() {
        let mut rates = vec![1_000.0; 20];
        (rates[5], rates[6], rates[12]) = (0.0, 500.0, 200.0);
        let found = stalls(&rates, 0.1);
        assert_eq!(found.len(), 2);
        assert!((found[0].at_s - 0.5).abs() < 1e-9 && (found[0].lost_s - 0.15).abs() < 1e-9, "{found:?}");
        assert!((found[1].lost_s - 0.08).abs() < 1e-9);
        let mut ends = vec![1_000.0; 20];
        (ends[0], ends[19]) = (100.0, 0.0);
        assert_eq!(stalls(&ends, 0.1), [], "the load began late and ended early");
    }

    #[test]
    fn a_run_that_is_uneven_or_short_or_idle_has_none() {
        assert_eq!(stalls(&[1_000.0, 100.0].repeat(20), 0.1), [], "half of it is low: what is usual?");
        assert_eq!(stalls(&[1_000.0, 1_000.0, 0.0, 1_000.0], 0.1), []);
        // 18 requests a second, evenly spaced, are 2 an interval, and 1 in each fifth.
        assert_eq!(stalls(&[20.0, 20.0, 20.0, 20.0, 10.0].repeat(12), 0.1), []);
        assert_eq!(stalls(&[0.0; 40], 0.1), []);
        assert_eq!(stalls(&[], 0.1), []);
    }

    #[test]
    fn a_stall_every_two_seconds_is_found_in_one_long_run_and_in_several_short_ones() {
        let mut noise = Draws::new(1);
        let long = of_rates(&[rates(120, |place| place % 20 == 3, &mut noise)]).unwrap();
        assert!((long.period_s - 2.0).abs() < 1e-9 && long.stalls == 6 && long.p < 0.002, "{long:?}");
        assert!((long.lost_s - 0.085).abs() < 0.003, "{long:?}");
        // Each begins at another phase.
        let short: Vec<Vec<f64>> =
            (0..6).map(|run| rates(50, |place| (place + 7 * run) % 20 == 0, &mut noise)).collect();
        let short = of_rates(&short).unwrap();
        assert!((short.period_s - 2.0).abs() < 1e-9 && short.p < 0.002, "{short:?}");
    }

    #[test]
    fn stalls_by_chance_are_seldom_taken_for_regular_ones() {
        let mut draws = Draws::new(7);
        let mut taken = 0;
        for _ in 0..300 {
            let chance: Vec<usize> = draws.some_of(120, 6);
            let found = of_rates(&[rates(120, |place| chance.contains(&place), &mut draws)]);
            taken += usize::from(found.is_some_and(|found| found.p <= 0.01));
        }
        assert!(taken <= 9, "{taken} of 300 at p <= 0.01");
    }

    #[test]
    fn too_few_stalls_say_nothing() {
        let mut noise = Draws::new(3);
        assert_eq!(of_rates(&[rates(60, |place| place % 20 == 3, &mut noise)]), None, "two distances");
        assert_eq!(of_rates(&[rates(60, |_| false, &mut noise)]), None);
        assert_eq!(regular(&[]), None);
        let far = [1.0, 3.0, 5.0, 7.0].map(|at_s| Stall { at_s, lost_s: 0.1 });
        assert!(regular(&[Run { stalls: &far, intervals: usize::MAX, step_s: 0.1 }]).is_some());
        let odd = [Stall { at_s: f64::NAN, lost_s: f64::NAN }, Stall { at_s: 1e300, lost_s: -1.0 }];
        assert_eq!(regular(&[Run { stalls: &odd, intervals: 4, step_s: 0.0 }]), None);
    }
}
