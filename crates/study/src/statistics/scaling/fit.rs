//! The fit itself: Levenberg and Marquardt's steps on reweighted log residuals, kept within the bounds.

use super::{Law, Point, residual};
use crate::statistics::linear::eliminate;
use crate::statistics::summary::median;

/// A normal distribution's standard deviation is so many times its median magnitude.
pub const NORMAL_MAD: f64 = 1.482_6;

/// Tukey's bisquare with 95 % of the efficiency of least squares under normal noise.
const BISQUARE: f64 = 4.685;

/// Below this spread of log residuals the points lie on the curve.
const NO_SPREAD: f64 = 1e-9;

/// Steps of one descent; some ten are usual.
const MOST_STEPS: usize = 60;

/// Starting values of a and b, from no effect to a strong one.
const STARTS_A: [f64; 6] = [0.0, 0.01, 0.03, 0.1, 0.3, 1.0];
const STARTS_B: [f64; 6] = [0.0, 1e-5, 1e-4, 1e-3, 1e-2, 0.1];

/// What is minimised.
#[derive(Debug, Clone, Copy)]
enum Loss {
    /// Sum of magnitudes: no outlier can pull it far.
    Magnitudes,
    /// Tukey's bisquare with this cut-off: beyond it a point does not count at all.
    Bisquare(f64),
}

impl Loss {
    fn of(self, r: f64) -> f64 {
        match self {
            Loss::Magnitudes => r.abs(),
            Loss::Bisquare(cut) => 1.0 - (1.0 - (r / cut).powi(2)).max(0.0).powi(3),
        }
    }

    /// The weight with which a least squares step descends.
    fn weight(self, r: f64) -> f64 {
        match self {
            Loss::Magnitudes => 1.0 / r.abs().max(1e-4),
            Loss::Bisquare(cut) => (1.0 - (r / cut).powi(2)).max(0.0).powi(2),
        }
    }

    fn sum(self, points: &[Point], law: &Law) -> f64 {
        points.iter().map(|p| self.of(residual(law, p))).sum()
    }
}

/// Fits the law, from `start` where one is known.
pub fn fit(points: &[Point], start: Option<Law>) -> Law {
    let start = start.unwrap_or_else(|| best_start(points));
    let first = descend(points, start, Loss::Magnitudes);
    let magnitudes: Vec<f64> = points.iter().map(|p| residual(&first, p).abs()).collect();
    let spread = median(&magnitudes).unwrap_or(0.0) * NORMAL_MAD;
    descend(points, first, Loss::Bisquare(BISQUARE * spread.max(NO_SPREAD)))
}

/// The best of a grid of shapes, each with the g that suits it.
fn best_start(points: &[Point]) -> Law {
    let shapes = STARTS_A.iter().flat_map(|a| STARTS_B.map(|b| Law { g: 1.0, a: *a, b }));
    let with_g = shapes.map(|shape| {
        let logs: Vec<f64> = points.iter().map(|p| residual(&shape, p)).collect();
        Law { g: median(&logs).unwrap_or(0.0).exp(), ..shape }
    });
    let loss = |law: &Law| Loss::Magnitudes.sum(points, law);
    with_g.min_by(|a, b| loss(a).total_cmp(&loss(b))).unwrap_or(Law { g: 1.0, a: 0.0, b: 0.0 })
}

/// Goes down from `law` until no step makes `loss` smaller.
fn descend(points: &[Point], mut law: Law, loss: Loss) -> Law {
    let mut at = loss.sum(points, &law);
    let mut damping = 1e-3;
    for _ in 0..MOST_STEPS {
        let (matrix, slope) = normal_equations(points, &law, loss);
        let next = step(&law, matrix, slope, damping);
        let there = loss.sum(points, &next);
        if there < at {
            let gained = at - there;
            (law, at) = (next, there);
            damping = (damping / 5.0).max(1e-12);
            if gained <= 1e-9 * at {
                break;
            }
        } else {
            damping *= 10.0;
            if damping > 1e8 {
                break;
            }
        }
    }
    law
}

/// J'WJ and J'Wr in the order log g, a, b; J is the change of the log figure.
fn normal_equations(points: &[Point], law: &Law, loss: Loss) -> ([[f64; 3]; 3], [f64; 3]) {
    let (mut matrix, mut slope) = ([[0.0; 3]; 3], [0.0; 3]);
    for point in points {
        let n = f64::from(point.n);
        let r = residual(law, point);
        let (weight, left) = (loss.weight(r), law.efficiency(n));
        let j = [1.0, -(n - 1.0) * left, -n * (n - 1.0) * left];
        for row in 0..3 {
            slope[row] += weight * j[row] * r;
            for column in 0..3 {
                matrix[row][column] += weight * j[row] * j[column];
            }
        }
    }
    (matrix, slope)
}

/// One damped step; a or b that stands at 0 and wants to go below stays there, and the others are solved without it.
fn step(law: &Law, mut matrix: [[f64; 3]; 3], mut slope: [f64; 3], damping: f64) -> Law {
    let mut held = [false, law.a <= 0.0 && slope[1] < 0.0, law.b <= 0.0 && slope[2] < 0.0];
    for _ in 0..3 {
        for k in (0..3).filter(|k| held[*k]) {
            (0..3).for_each(|other| (matrix[k][other], matrix[other][k]) = (0.0, 0.0));
            (matrix[k][k], slope[k]) = (1.0, 0.0);
        }
        let mut damped = matrix;
        (0..3).for_each(|k| damped[k][k] += damping * matrix[k][k] + f64::MIN_POSITIVE);
        let mut by = slope;
        eliminate(&mut damped, &mut by);
        let below = [false, !held[1] && law.a <= 0.0 && by[1] < 0.0, !held[2] && law.b <= 0.0 && by[2] < 0.0];
        if below.contains(&true) {
            (0..3).for_each(|k| held[k] |= below[k]);
            continue;
        }
        return Law { g: law.g * by[0].exp(), a: (law.a + by[1]).max(0.0), b: (law.b + by[2]).max(0.0) };
    }
    *law
}
