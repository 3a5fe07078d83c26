//! What a loop that does nothing but read the clock loses to others, and what the tick takes of it. No program in the kernel reports which
//! gaps are the tick's: its times do.

use std::io;
use std::time::Duration;

use load::monotonic_ns;
use rustix::thread::{CpuSet, sched_setaffinity};

/// The shortest time between two readings of the clock that is a gap, ns: ten times what one takes here.
const THRESHOLD_NS: u64 = 300;

/// As much later than the earliest a tick may begin, ns, and as large a part of a period.
const LATE_NS: u64 = 100_000;
const LATE_PART: u64 = 20;

/// Of so many periods one has its tick for its longest gap, at least. By chance it would be one of twenty or fewer.
const FEW: usize = 5;

/// As many gaps in a second are kept; a CPU that has more is not one to measure on.
const MOST_IN_SECOND: f64 = 200_000.0;

/// A time in which the loop did not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// When it began, CLOCK_MONOTONIC ns.
    pub at_ns: u64,
    /// Its length, ns.
    pub length_ns: u64,
}

/// Reads the clock on one CPU for a window: the gaps, in their order.
///
/// # Errors
/// When the CPU is not there, or has more gaps than can be kept.
pub fn of_loop(cpu: u32, window: Duration) -> io::Result<Vec<Gap>> {
    std::thread::spawn(move || spin(cpu, window))
        .join()
        .unwrap_or_else(|_| Err(io::Error::other("the loop panicked")))
}

fn spin(cpu: u32, window: Duration) -> io::Result<Vec<Gap>> {
    let mut only = CpuSet::new();
    only.set(cpu as usize);
    sched_setaffinity(None, &only)?;
    let mut gaps = vec![Gap { at_ns: 0, length_ns: 0 }; (window.as_secs_f64() * MOST_IN_SECOND) as usize];
    let mut kept = 0;
    let from_ns = monotonic_ns();
    let mut last_ns = from_ns;
    while last_ns - from_ns < window.as_nanos() as u64 {
        let now_ns = monotonic_ns();
        if now_ns - last_ns > THRESHOLD_NS {
            let gap =
                gaps.get_mut(kept).ok_or_else(|| io::Error::other(format!("CPU {cpu}: too many gaps")))?;
            *gap = Gap { at_ns: last_ns, length_ns: now_ns - last_ns };
            kept += 1;
        }
        last_ns = now_ns;
    }
    gaps.truncate(kept);
    Ok(gaps)
}

/// The share of a window that lies in gaps above `threshold_ns`.
pub fn share(gaps: &[Gap], threshold_ns: u64, window: Duration) -> f64 {
    let lost_ns: u64 = gaps.iter().map(|gap| gap.length_ns).filter(|ns| *ns > threshold_ns).sum();
    lost_ns as f64 / window.as_nanos() as f64
}

/// The lengths of the ticks' gaps, ns, where there are `hz` ticks a second: ticks come at the same time of each period, so of all times of
/// a period, each [`LATE_NS`] long, theirs is the one in which the most periods have their longest gap; empty when few do. A period in which a
/// host took longer elsewhere is left out.
pub fn of_ticks(gaps: &[Gap], hz: u32) -> Vec<u64> {
    let period_ns = 1_000_000_000 / u64::from(hz.max(1));
    let late_ns = LATE_NS.min(period_ns / LATE_PART);
    let mut longest: Vec<Gap> = Vec::new();
    for gap in gaps {
        match longest.last_mut().filter(|last| last.at_ns / period_ns == gap.at_ns / period_ns) {
            Some(last) if last.length_ns < gap.length_ns => *last = *gap,
            Some(_) => {}
            None => longest.push(*gap),
        }
    }
    let phase_ns = |gap: &Gap| gap.at_ns % period_ns;
    let is_of = |gap: &Gap, from_ns: u64| (phase_ns(gap) + period_ns - from_ns) % period_ns < late_ns;
    let ticks_from = |from: &Gap| longest.iter().filter(|gap| is_of(gap, phase_ns(from))).count();
    let Some(first) = longest.iter().max_by_key(|gap| ticks_from(gap)) else { return Vec::new() };
    let ticks: Vec<u64> =
        longest.iter().filter(|gap| is_of(gap, phase_ns(first))).map(|gap| gap.length_ns).collect();
    if ticks.len() * FEW > longest.len() { ticks } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 250 ticks a second, each `late(number)` ns late and 20 us long, and between them others of 2 us.
    fn ticking(late: impl Fn(u64) -> u64) -> Vec<Gap> {
        let both = |number: u64| {
            let at_ns = 1_000_123_456 + number * 4_000_000;
            let tick = Gap { at_ns: at_ns + late(number), length_ns: 20_000 };
            [tick, Gap { at_ns: at_ns + 1_000_000 + number * 7_919 % 2_000_000, length_ns: 2_000 }]
        };
        (0..250).flat_map(both).collect()
    }

    #[test]
    fn ticks_are_distinguished_from_others_by_their_times() {
        assert_eq!(of_ticks(&ticking(|_| 0), 250), vec![20_000; 250]);
        assert_eq!(of_ticks(&ticking(|number| number * 37 % 50_000), 250), vec![20_000; 250]);
    }

    #[test]
    fn where_nothing_comes_at_its_time_there_are_no_ticks() {
        assert_eq!(of_ticks(&ticking(|number| number * 7_919 % 1_999_000), 250), Vec::<u64>::new());
        assert_eq!(of_ticks(&[], 250), Vec::<u64>::new());
    }

    #[test]
    fn a_share_is_of_the_window() {
        let gaps = [Gap { at_ns: 5, length_ns: 900 }, Gap { at_ns: 9_000, length_ns: 2_000_000 }];
        assert!((share(&gaps, 1_000, Duration::from_secs(1)) - 0.002).abs() < 1e-12);
    }

    #[test]
    fn the_loop_sees_gaps_of_this_machine() {
        let cpu = machine::Machine::read(&machine::Root::live()).online().last().unwrap();
        let gaps = of_loop(cpu, Duration::from_millis(200)).unwrap();
        assert!(!gaps.is_empty() && gaps.is_sorted_by(|a, b| a.at_ns + a.length_ns <= b.at_ns));
        assert!(of_loop(100_000, Duration::from_millis(1)).is_err(), "there is no such CPU");
    }
}
