//! How a figure grows with the number of CPUs: the Universal Scalability Law.
//!
//! X(N) = g N / (1 + a (N - 1) + b N (N - 1)): g is what one CPU does, a >= 0 what cannot be done side by side, b >= 0 what
//! the CPUs cost one another pair by pair (Gunther 2007, *Guerrilla Capacity Planning*, ch. 4). Fitted to log figures, since
//! noise is a share of the figure, by an M-estimate with Tukey's bisquare (Huber and Ronchetti 2009, ch. 7) so that slow runs
//! do not bend the curve. Intervals by resampling residuals in two parts, those of whole blocks and those within them
//! (Davison and Hinkley 1997, section 3.8): what drifts from block to block moves g and leaves the shape alone.

use std::collections::BTreeSet;

use machine::{Class, Fault};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use serde::{Deserialize, Serialize};

mod fit;

use super::bootstrap::below_bound;
use super::summary::median;
use fit::fit;

/// The fewest different N that a curve is fitted to.
pub const FEWEST_SIZES: usize = 6;

/// Share of what the first CPU does that one more CPU has to add, so that the knee lies beyond it.
const WORTH_ADDING: f64 = 0.5;

/// One trial.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Point {
    /// Block of the trial.
    pub block: usize,
    /// CPUs.
    pub n: u32,
    /// The figure: more is better.
    pub x: f64,
}

/// The law with its three numbers.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Law {
    /// What one CPU does.
    pub g: f64,
    /// Contention, at least 0.
    pub a: f64,
    /// Coherency, at least 0.
    pub b: f64,
}

impl Law {
    /// The figure of `n` CPUs.
    pub fn at(&self, n: f64) -> f64 {
        self.g * n * self.efficiency(n)
    }

    /// X(N) / (N X(1)): the share of each CPU that is left.
    pub fn efficiency(&self, n: f64) -> f64 {
        1.0 / (1.0 + self.a * (n - 1.0) + self.b * n * (n - 1.0))
    }

    /// Where the curve is highest: 1 when it only falls, infinite when it never does.
    pub fn peak(&self) -> f64 {
        match self.b {
            b if b > 0.0 => ((1.0 - self.a).max(0.0) / b).sqrt().max(1.0),
            _ if self.a < 1.0 => f64::INFINITY,
            _ => 1.0,
        }
    }

    /// The largest N up to `most` whose last CPU still adds half of what the first one does: X(N) - X(N - 1) >= X(1) / 2.
    /// `None` when that is so up to `most`: the knee was not reached.
    pub fn knee(&self, most: u32) -> Option<u32> {
        let adds = |n: u32| self.at(f64::from(n)) - self.at(f64::from(n) - 1.0);
        (2..=most).find(|n| adds(*n) < WORTH_ADDING * self.g).map(|n| n - 1)
    }
}

/// A number with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Estimate {
    /// Estimate.
    pub value: f64,
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// The curve at one N.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct At {
    /// CPUs.
    pub n: u32,
    /// The figure by the law, with the band of the curve at this N alone (not of a single trial).
    pub x: Estimate,
    /// X(N) / (N X(1)) by the law.
    pub efficiency: Estimate,
    /// Median of the trials.
    pub measured: f64,
}

/// Where more CPUs make it worse.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Peak {
    /// Not known: the interval of b touches 0, so there may be none.
    NotTold,
    /// At so many CPUs.
    At {
        /// sqrt((1 - a) / b).
        n: Estimate,
        /// Whether it lies beyond what was measured: then it rests on the law alone.
        beyond_measured: bool,
    },
}

/// A fitted curve.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Scaling {
    /// What one CPU does, in the unit of the figure, while the study ran: a machine that drifts will do otherwise tomorrow, and
    /// the interval knows no more of that than the blocks show. The shape (a, b, efficiency) does not suffer from it.
    pub g: Estimate,
    /// Contention.
    pub a: Estimate,
    /// Coherency.
    pub b: Estimate,
    /// The curve at each N that was measured, rising.
    pub curve: Vec<At>,
    /// The peak.
    pub peak: Peak,
    /// The knee (see [`Law::knee`]), `None` when it was not reached within what was measured.
    pub knee: Option<u32>,
    /// The interval of the knee; an upper end of `None`: perhaps not reached.
    pub knee_interval: (u32, Option<u32>),
    /// The N at which the trials lie farthest from the law, and by which factor.
    pub farthest: (u32, f64),
    /// Spread of single trials about the law, as a log ratio (normalised median of magnitudes).
    pub spread: f64,
}

/// Fits the law to `points`, with intervals at `level` from `resamples` resamples that `seed` repeats.
///
/// # Errors
/// `MachineLacks` with fewer than [`FEWEST_SIZES`] different N; `Usage` for an N of 0 or a figure that is not above 0.
pub fn scaling(points: &[Point], level: f64, resamples: usize, seed: u64) -> Result<Scaling, Fault> {
    let sizes = checked_sizes(points)?;
    let law = fit(points, None);
    let drawn = resample(points, law, resamples, seed);
    let interval = |of: &dyn Fn(&Law) -> f64| {
        let mut values: Vec<f64> = drawn.iter().map(of).collect();
        values.sort_by(f64::total_cmp);
        let value = of(&law);
        let cut = |share: f64| at_share(&values, share).unwrap_or(value);
        let tail = (1.0 - level) / 2.0;
        Estimate { value, low: cut(tail).min(value), high: cut(1.0 - tail).max(value) }
    };
    let curve: Vec<At> = sizes
        .iter()
        .map(|n| At {
            n: *n,
            x: interval(&|law| law.at(f64::from(*n))),
            efficiency: interval(&|law| law.efficiency(f64::from(*n))),
            measured: figures_at(points, *n).unwrap_or(f64::NAN),
        })
        .collect();
    let most = sizes.last().copied().unwrap_or(1);
    let b = interval(&|law| law.b);
    let knee = interval(&|law| law.knee(most).map_or(f64::INFINITY, f64::from));
    let n = interval(&Law::peak);
    let beyond_measured = n.value > f64::from(most);
    let residuals: Vec<f64> = points.iter().map(|p| residual(&law, p).abs()).collect();
    Ok(Scaling {
        g: interval(&|law| law.g),
        a: interval(&|law| law.a),
        b,
        peak: if b.low > TOUCHES_ZERO { Peak::At { n, beyond_measured } } else { Peak::NotTold },
        knee: law.knee(most),
        knee_interval: (
            knee.low.min(f64::from(most)) as u32,
            knee.high.is_finite().then_some(knee.high as u32),
        ),
        farthest: farthest(&curve),
        curve,
        spread: median(&residuals).unwrap_or(0.0) * fit::NORMAL_MAD,
    })
}

/// A b below this makes no difference at any number of CPUs that exists.
const TOUCHES_ZERO: f64 = 1e-9;

fn checked_sizes(points: &[Point]) -> Result<Vec<u32>, Fault> {
    if let Some(bad) = points.iter().find(|p| p.n == 0 || !p.x.is_finite() || p.x <= 0.0) {
        return Err(Fault::new(
            Class::Usage,
            format!("{} at {} CPUs", bad.x, bad.n),
            "no such point can lie on a scaling curve",
            "leave out trials without a figure",
        ));
    }
    let sizes: BTreeSet<u32> = points.iter().map(|p| p.n).collect();
    if sizes.len() < FEWEST_SIZES {
        return Err(Fault::new(
            Class::MachineLacks,
            format!("a scaling curve over {} numbers of CPUs", sizes.len()),
            format!("three numbers are fitted, which takes at least {FEWEST_SIZES} different ones"),
            "measure more numbers of CPUs",
        ));
    }
    Ok(sizes.into_iter().collect())
}

fn residual(law: &Law, point: &Point) -> f64 {
    (point.x / law.at(f64::from(point.n))).ln()
}

fn figures_at(points: &[Point], n: u32) -> Option<f64> {
    median(&points.iter().filter(|p| p.n == n).map(|p| p.x).collect::<Vec<_>>())
}

fn farthest(curve: &[At]) -> (u32, f64) {
    let off = |at: &At| (at.measured / at.x.value).ln().abs();
    let at = curve.iter().max_by(|a, b| off(a).total_cmp(&off(b)));
    at.map_or((1, 1.0), |at| (at.n, at.measured / at.x.value))
}

/// The value below which a share of the rising `values` lies.
fn at_share(values: &[f64], share: f64) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    values.get((share * last as f64).round() as usize).copied()
}

/// Laws fitted to points made of the fitted law and resampled residuals.
fn resample(points: &[Point], law: Law, resamples: usize, seed: u64) -> Vec<Law> {
    let blocks: Vec<usize> = points.iter().map(|p| p.block).collect::<BTreeSet<_>>().into_iter().collect();
    let by_block: Vec<f64> = blocks.iter().map(|block| block_level(points, &law, *block)).collect();
    let centre = median(&by_block).unwrap_or(0.0);
    let level = |block: usize| blocks.binary_search(&block).map_or(0.0, |i| by_block[i]);
    // Residuals are smaller than errors by what the fit took up: one number a block, and two for the shape.
    let (count, taken) = (points.len() as f64, (blocks.len() + 2) as f64);
    let within_scale = (count / (count - taken).max(1.0)).sqrt();
    let within: Vec<f64> =
        points.iter().map(|p| (residual(&law, p) - level(p.block)) * within_scale).collect();
    let between_scale = small_sample_scale(blocks.len());
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    (0..resamples)
        .map(|_| {
            let shifts: Vec<f64> = blocks
                .iter()
                .map(|_| (by_block[below_bound(&mut rng, blocks.len())] - centre) * between_scale)
                .collect();
            let made: Vec<Point> = points
                .iter()
                .map(|p| {
                    let shift = blocks.binary_search(&p.block).map_or(0.0, |i| shifts[i]);
                    let error = shift + within[below_bound(&mut rng, within.len())];
                    Point { x: law.at(f64::from(p.n)) * error.exp(), ..*p }
                })
                .collect();
            fit(&made, Some(law))
        })
        .collect()
}

/// How far a block lies above the law.
fn block_level(points: &[Point], law: &Law, block: usize) -> f64 {
    let own: Vec<f64> = points.iter().filter(|p| p.block == block).map(|p| residual(law, p)).collect();
    median(&own).unwrap_or(0.0)
}

/// Percentile intervals of a mean of few values are too narrow by sqrt((n - 1) / n) and by what Student's t is wider than the
/// normal (Hesterberg 2015, The American Statistician 69(4)); t near enough by its first term in 1 / n.
fn small_sample_scale(n: usize) -> f64 {
    let n = n as f64;
    if n < 2.0 { 1.0 } else { (n / (n - 1.0)).sqrt() * (1.0 + 1.21 / (n - 1.0)) }
}

#[cfg(test)]
mod tests;
