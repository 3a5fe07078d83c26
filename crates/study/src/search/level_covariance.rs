//! What two combinations of levels have in common: the levels that they share, and the pairs of them.
//!
//! A Gaussian process with this covariance is a linear model of main effects and interactions of two whose sizes are drawn, each
//! factor with a variance of its own: it learns a level from all arms that have it.

use std::ops::Range;

/// The covariance, 1 for equal arms.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct LevelCovariance {
    /// Where each factor's features stand.
    places: Vec<Range<usize>>,
    /// How much each factor matters.
    weights: Vec<f64>,
    /// Share of what pairs of levels do together.
    pairs: f64,
}

impl LevelCovariance {
    /// Factors of so many levels, all of which matter as much; each level is a feature that is above 0 where an arm has it.
    pub fn new(levels: &[usize], pairs: f64) -> Self {
        let ends = levels.iter().scan(0, |end, levels| {
            *end += levels;
            Some(*end)
        });
        let places = ends.zip(levels).map(|(end, levels)| end - levels..end).collect();
        // One factor alone has no pairs.
        let pairs = if levels.len() > 1 { pairs } else { 0.0 };
        Self { places, weights: vec![1.0; levels.len()], pairs }
    }

    /// Lets a factor matter so many times as much.
    pub fn weigh(&mut self, factor: usize, times: f64) {
        self.weights[factor] *= times;
    }

    pub fn between(&self, a: &[f64], b: &[f64]) -> f64 {
        let (mut one, mut squares) = (0.0, 0.0);
        let (mut all, mut all_squares) = (0.0, 0.0);
        for (place, weight) in self.places.iter().zip(&self.weights) {
            all += weight;
            all_squares += weight * weight;
            if a[place.clone()].iter().zip(&b[place.clone()]).any(|(a, b)| a * b > 0.0) {
                one += weight;
                squares += weight * weight;
            }
        }
        // Sums over pairs of different factors, from the square of the sum.
        let two = (one * one - squares) / (all * all - all_squares).max(f64::MIN_POSITIVE);
        (1.0 - self.pairs) * one / all + self.pairs * two
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HAVE: [[f64; 5]; 3] =
        [[0.5, 0.0, 0.5, 0.0, 0.0], [0.5, 0.0, 0.0, 0.5, 0.0], [0.0, 0.5, 0.0, 0.0, 0.5]];

    #[test]
    fn equal_arms_have_all_in_common_and_others_what_they_share() {
        let mut shared = LevelCovariance::new(&[2, 3], 0.4);
        let of = |shared: &LevelCovariance, other: usize| shared.between(&HAVE[0], &HAVE[other]);
        assert_eq!([0, 1, 2].map(|other| of(&shared, other)), [1.0, 0.3, 0.0]);
        shared.weigh(0, 3.0);
        assert!((of(&shared, 1) - 0.6 * 0.75).abs() < 1e-12 && (of(&shared, 0) - 1.0).abs() < 1e-12);
        assert_eq!(
            LevelCovariance::new(&[2], 0.5).between(&[0.5, 0.0], &[0.5, 0.0]),
            1.0,
            "one factor has no pairs"
        );
    }
}
