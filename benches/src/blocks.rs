//! Arms side by side: each block runs every arm once in random order, and ratios are taken within blocks, so that what
//! drifts on the host cancels.

use std::fmt;

use study::design::draw_order;
use study::statistics::signed_rank;
use study::statistics::summary::median;

use crate::cpu_time::Cost;

/// Seed of all orders: the same on every machine.
const SEED: u64 = 20_261_121;

/// One way of doing the work: a run answers with its cost.
pub struct Arm<'a> {
    /// Name in the results.
    pub name: String,
    /// Does the work once.
    pub run: Box<dyn FnMut() -> std::io::Result<Cost> + 'a>,
}

impl<'a> Arm<'a> {
    /// An arm.
    pub fn new(name: impl Into<String>, run: impl FnMut() -> std::io::Result<Cost> + 'a) -> Self {
        Self { name: name.into(), run: Box::new(run) }
    }
}

/// What came out of one arm.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Name of the arm.
    pub name: String,
    /// CPU time of each run, ns, by block.
    pub cpu_ns: Vec<f64>,
    /// Time on the clock of each run, ns, by block.
    pub wall_ns: Vec<f64>,
}

/// How many times the cost of the first arm another one takes.
#[derive(Debug, Clone, Copy)]
pub struct Ratio {
    /// Hodges-Lehmann estimate over blocks.
    pub estimate: f64,
    /// Exact 95 % interval; `None` with fewer than six blocks.
    pub interval: Option<(f64, f64)>,
}

impl Ratio {
    /// Of the first series to the second, within blocks; `None` without blocks.
    pub fn of(this: &[f64], other: &[f64]) -> Option<Self> {
        let logs: Vec<f64> = this.iter().zip(other).map(|(this, other)| (this / other).ln()).collect();
        let location = signed_rank::location(&logs, 0.95)?;
        let interval = location.interval.map(|(low, high)| (low.exp(), high.exp()));
        Some(Ratio { estimate: location.estimate.exp(), interval })
    }
}

impl fmt::Display for Ratio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.interval {
            Some((low, high)) => write!(f, "{:.2} x [{low:.2}, {high:.2}]", self.estimate),
            None => write!(f, "{:.2} x (too few blocks for an interval)", self.estimate),
        }
    }
}

/// By how much a figure of another arm is larger than that of the first, in the unit of the figure.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Difference {
    /// Hodges-Lehmann estimate over blocks.
    pub estimate: f64,
    /// Exact 95 % interval; `None` with fewer than six blocks.
    pub interval: Option<(f64, f64)>,
}

impl Difference {
    /// Of the first series from the second, within blocks; `None` without blocks.
    pub fn of(this: &[f64], other: &[f64]) -> Option<Self> {
        let differences: Vec<f64> = this.iter().zip(other).map(|(this, other)| this - other).collect();
        let location = signed_rank::location(&differences, 0.95)?;
        Some(Self { estimate: location.estimate, interval: location.interval })
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.interval {
            Some((low, high)) => write!(f, "{:+.0} [{low:+.0}, {high:+.0}]", self.estimate),
            None => write!(f, "{:+.0} (too few blocks for an interval)", self.estimate),
        }
    }
}

/// Median, in the unit of the values; NaN for none.
pub fn middle(values: &[f64]) -> f64 {
    median(values).unwrap_or(f64::NAN)
}

/// Runs the arms in `blocks` blocks, after one run of each that does not count.
///
/// # Errors
/// When a run fails.
pub fn run(mut arms: Vec<Arm<'_>>, blocks: usize) -> std::io::Result<Vec<Outcome>> {
    let figures = figures(arms.len(), blocks, |index| {
        let cost = (arms[index].run)()?;
        Ok([cost.cpu_ns, cost.wall_ns].map(|ns| ns.max(1) as f64))
    })?;
    let named = arms.into_iter().map(|arm| arm.name).zip(figures);
    Ok(named.map(|(name, [cpu_ns, wall_ns])| Outcome { name, cpu_ns, wall_ns }).collect())
}

/// The same for arms by number and whatever they measure: of each arm each figure, by block.
///
/// # Errors
/// When a run fails.
pub fn figures<const N: usize>(
    arms: usize,
    blocks: usize,
    mut run: impl FnMut(usize) -> std::io::Result<[f64; N]>,
) -> std::io::Result<Vec<[Vec<f64>; N]>> {
    for arm in 0..arms {
        run(arm)?;
    }
    let mut measured = vec![[const { Vec::new() }; N]; arms];
    for arm in draw_order(arms, blocks, SEED).into_iter().flatten() {
        let figures = run(arm)?;
        measured[arm].iter_mut().zip(figures).for_each(|(series, figure)| series.push(figure));
    }
    Ok(measured)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_within_blocks() {
        // A host that grows three times slower from block to block; the second arm costs twice the first.
        let growing = |factor: u64| {
            let mut ns = factor;
            move || {
                ns *= 3;
                Ok(Cost { cpu_ns: ns, wall_ns: ns })
            }
        };
        let arms = vec![Arm::new("ours", growing(1)), Arm::new("theirs", growing(2))];
        let outcomes = run(arms, 8).unwrap();
        let ratio = Ratio::of(&outcomes[1].cpu_ns, &outcomes[0].cpu_ns).unwrap();
        assert!((ratio.estimate - 2.0).abs() < 1e-9, "{ratio:?}");
        assert!(ratio.interval.is_some_and(|(low, high)| low > 1.99 && high < 2.01));
        assert_eq!((outcomes[0].cpu_ns.len(), middle(&[1.0, 9.0, 3.0])), (8, 3.0));
    }

    #[test]
    fn differences_are_taken_within_blocks() {
        let [this, other] =
            [7.0, 0.0].map(|more| (0..8).map(|block| f64::from(block * block) + more).collect::<Vec<_>>());
        let difference = Difference::of(&this, &other).unwrap();
        assert_eq!(difference, Difference { estimate: 7.0, interval: Some((7.0, 7.0)) });
        assert_eq!(difference.to_string(), "+7 [+7, +7]");
        assert_eq!(Difference::of(&[], &[]), None);
    }

    #[test]
    fn a_run_that_fails_ends_the_measurement() {
        assert!(run(vec![Arm::new("bad", || Err(std::io::Error::other("no")))], 3).is_err());
    }
}
