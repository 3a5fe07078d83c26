//! Arms side by side: each block runs every arm once in random order, and ratios are taken within blocks, so that what
//! drifts on the host cancels.

use study::design::draw_order;
use study::statistics::signed_rank;
use study::statistics::summary::median;

/// Seed of all orders: the same on every machine.
const SEED: u64 = 20_261_121;

/// One way of doing the work: a run answers with its cost.
pub struct Arm<'a> {
    /// Name in the results.
    pub name: String,
    /// Does the work once; the CPU time that it took, ns.
    pub run: Box<dyn FnMut() -> std::io::Result<u64> + 'a>,
}

impl<'a> Arm<'a> {
    /// An arm.
    pub fn new(name: impl Into<String>, run: impl FnMut() -> std::io::Result<u64> + 'a) -> Self {
        Self { name: name.into(), run: Box::new(run) }
    }
}

/// What came out of one arm.
#[derive(Debug, Clone)]
pub struct Outcome {
    /// Name of the arm.
    pub name: String,
    /// CPU time of each run, ns, by block.
    pub costs_ns: Vec<f64>,
}

/// How many times the cost of the first arm another one takes.
#[derive(Debug, Clone, Copy)]
pub struct Ratio {
    /// Hodges-Lehmann estimate over blocks.
    pub estimate: f64,
    /// Exact 95 % interval; `None` with fewer than six blocks.
    pub interval: Option<(f64, f64)>,
}

impl Outcome {
    /// Median cost, ns.
    pub fn median_ns(&self) -> f64 {
        median(&self.costs_ns).unwrap_or(f64::NAN)
    }

    /// Its cost in terms of another arm of the same blocks; `None` without blocks.
    pub fn ratio_to(&self, other: &Outcome) -> Option<Ratio> {
        let logs: Vec<f64> =
            self.costs_ns.iter().zip(&other.costs_ns).map(|(this, other)| (this / other).ln()).collect();
        let location = signed_rank::location(&logs, 0.95)?;
        let interval = location.interval.map(|(low, high)| (low.exp(), high.exp()));
        Some(Ratio { estimate: location.estimate.exp(), interval })
    }
}

/// Runs the arms in `blocks` blocks, after one run of each that does not count.
///
/// # Errors
/// When a run fails.
pub fn run(mut arms: Vec<Arm<'_>>, blocks: usize) -> std::io::Result<Vec<Outcome>> {
    let mut outcomes: Vec<Outcome> =
        arms.iter().map(|arm| Outcome { name: arm.name.clone(), costs_ns: Vec::new() }).collect();
    for arm in &mut arms {
        (arm.run)()?;
    }
    for block in draw_order(arms.len(), blocks, SEED) {
        for index in block {
            let cost = (arms[index].run)()?;
            outcomes[index].costs_ns.push(cost.max(1) as f64);
        }
    }
    Ok(outcomes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_taken_within_blocks() {
        // A host that grows three times slower from block to block; the second arm costs twice the first.
        let (mut a, mut b) = (1u64, 1u64);
        let arms = vec![
            Arm::new("ours", move || Ok(std::mem::replace(&mut a, a * 3))),
            Arm::new("theirs", move || Ok(2 * std::mem::replace(&mut b, b * 3))),
        ];
        let outcomes = run(arms, 8).unwrap();
        let ratio = outcomes[1].ratio_to(&outcomes[0]).unwrap();
        assert!((ratio.estimate - 2.0).abs() < 1e-9, "{ratio:?}");
        assert!(ratio.interval.is_some_and(|(low, high)| low > 1.99 && high < 2.01));
        assert_eq!(outcomes[0].costs_ns.len(), 8);
    }

    #[test]
    fn a_run_that_fails_ends_the_measurement() {
        assert!(run(vec![Arm::new("bad", || Err(std::io::Error::other("no")))], 3).is_err());
    }
}
