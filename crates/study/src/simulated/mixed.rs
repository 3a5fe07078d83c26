//! A server whose figure depends on settings that are no places: keys, knobs, memory. Main effects, some interactions of two, and
//! levels that go wrong.

use crate::statistics::draws::Draws;

/// Standard deviation of the log effects of the levels of the strongest factor; each further factor has a part of it.
const STRONGEST: f64 = 0.12;
/// That part.
const WEAKER: f64 = 0.6;
/// How many pairs of factors work together.
const PAIRS: usize = 3;
/// Standard deviation of the log effects of a combination of two levels.
const TOGETHER: f64 = 0.04;
/// What one level of one factor loses beside the others: a setting that is plainly wrong.
const WRONG: f64 = 0.5;

/// The truth about one server.
#[derive(Debug, Clone)]
pub struct Mixed {
    /// Numbers of levels.
    sizes: Vec<usize>,
    /// Log effect of each level, by factor.
    main: Vec<Vec<f64>>,
    /// Log effects of combinations of the levels of two factors.
    pairs: Vec<(usize, usize, Vec<Vec<f64>>)>,
    best: f64,
}

impl Mixed {
    /// A server drawn from a seed, with factors of so many levels.
    pub fn drawn(sizes: &[usize], seed: u64) -> Self {
        let mut draws = Draws::new(seed);
        let strengths = draws.some_of(sizes.len(), sizes.len());
        let strength = |rank: usize| STRONGEST * WEAKER.powi(rank as i32);
        let mut main: Vec<Vec<f64>> = sizes
            .iter()
            .zip(&strengths)
            .map(|(size, rank)| (0..*size).map(|_| strength(*rank) * draws.normal()).collect())
            .collect();
        let wrong = draws.below(sizes.len());
        let level = draws.below(sizes[wrong]);
        main[wrong][level] -= WRONG;
        let pairs = (0..PAIRS)
            .map(|_| {
                let two = draws.some_of(sizes.len(), 2);
                let mut row = || (0..sizes[two[1]]).map(|_| TOGETHER * draws.normal()).collect();
                (two[0], two[1], (0..sizes[two[0]]).map(|_| row()).collect())
            })
            .collect();
        let mut truth = Self { sizes: sizes.to_vec(), main, pairs, best: f64::NEG_INFINITY };
        truth.best = truth.all().map(|levels| truth.log_figure(&levels)).fold(f64::NEG_INFINITY, f64::max);
        truth
    }

    /// Numbers of levels.
    pub fn sizes(&self) -> &[usize] {
        &self.sizes
    }

    /// The log of what this combination reaches, without noise.
    pub fn log_figure(&self, levels: &[usize]) -> f64 {
        let main: f64 = self.main.iter().zip(levels).map(|(effects, level)| effects[*level]).sum();
        main + self.pairs.iter().map(|(a, b, effects)| effects[levels[*a]][levels[*b]]).sum::<f64>()
    }

    /// Whether it is within so large a share of the best that there is.
    pub fn is_within(&self, share: f64, levels: &[usize]) -> bool {
        self.log_figure(levels) >= self.best + (1.0 - share).ln()
    }

    /// Every combination.
    fn all(&self) -> impl Iterator<Item = Vec<usize>> + '_ {
        let count: usize = self.sizes.iter().product();
        (0..count).map(|mut at| {
            let digit = |size: &usize| {
                let level = at % size;
                at /= size;
                level
            };
            self.sizes.iter().map(digit).collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_is_the_best_and_a_seed_repeats_it() {
        let truth = Mixed::drawn(&[3, 4, 2], 5);
        assert_eq!(truth.all().count(), 24);
        assert_eq!(truth.all().filter(|levels| truth.is_within(0.0, levels)).count(), 1);
        assert!(truth.all().any(|levels| truth.log_figure(&levels) < truth.best - 0.3), "one level is wrong");
        assert_eq!(truth.best, Mixed::drawn(&[3, 4, 2], 5).best);
        assert_ne!(truth.best, Mixed::drawn(&[3, 4, 2], 6).best);
    }
}
