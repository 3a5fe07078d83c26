//! Random numbers that a seed repeats on every machine.

use std::collections::BTreeSet;

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// A stream of draws.
#[derive(Debug, Clone)]
pub struct Draws(ChaCha8Rng);

impl Draws {
    /// The stream of a seed.
    pub fn new(seed: u64) -> Self {
        Self(ChaCha8Rng::seed_from_u64(seed))
    }

    /// A number in [0, 1).
    pub fn uniform(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A standard normal number (Box and Muller 1958).
    pub fn normal(&mut self) -> f64 {
        let radius = (-2.0 * (1.0 - self.uniform()).ln()).sqrt();
        radius * (std::f64::consts::TAU * self.uniform()).cos()
    }

    /// A whole number below `bound` (at least 1), without modulo bias.
    pub fn below(&mut self, bound: usize) -> usize {
        let bound = bound.max(1) as u64;
        let limit = u64::MAX - u64::MAX % bound;
        loop {
            let drawn = self.0.next_u64();
            if drawn < limit {
                return (drawn % bound) as usize;
            }
        }
    }

    /// `wanted` different members of `0..of`, or all of them, in random order.
    pub fn some_of(&mut self, of: usize, wanted: usize) -> Vec<usize> {
        let mut all: Vec<usize> = (0..of).collect();
        let wanted = wanted.min(of);
        for i in 0..wanted {
            let other = i + self.below(of - i);
            all.swap(i, other);
        }
        all.truncate(wanted);
        all
    }

    /// `wanted` different members of `0..of`, or all of them, rising: by steps of `wanted` and not of `of` (Floyd, in Bentley 1987).
    pub fn some_in_order(&mut self, of: usize, wanted: usize) -> Vec<usize> {
        let mut some = BTreeSet::new();
        for last in of.saturating_sub(wanted)..of {
            let drawn = self.below(last + 1);
            some.insert(if some.contains(&drawn) { last } else { drawn });
        }
        some.into_iter().collect()
    }

    /// Puts `items` into random order (Durstenfeld 1964).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i + 1));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_in_order_are_different_and_each_is_drawn_alike() {
        let mut draws = Draws::new(5);
        let mut counts = [0; 10];
        for _ in 0..10_000 {
            let some = draws.some_in_order(10, 3);
            assert!(some.len() == 3 && some.is_sorted_by(|a, b| a < b), "{some:?}");
            some.iter().for_each(|member| counts[*member] += 1);
        }
        // Three of ten: 3,000 times each; the standard deviation is 46.
        assert!(counts.iter().all(|count| (2_770..=3_230).contains(count)), "{counts:?}");
        assert_eq!((draws.some_in_order(3, 9), draws.some_in_order(0, 2)), (vec![0, 1, 2], Vec::new()));
    }

    #[test]
    fn moments_and_bounds() {
        let mut draws = Draws::new(1);
        let normal: Vec<f64> = (0..20_000).map(|_| draws.normal()).collect();
        let mean = normal.iter().sum::<f64>() / 20_000.0;
        let variance = normal.iter().map(|x| x * x).sum::<f64>() / 20_000.0;
        assert!(mean.abs() < 0.03 && (variance - 1.0).abs() < 0.05, "{mean} {variance}");
        assert!((0..1000).all(|_| draws.below(7) < 7));
        let mut some = draws.some_of(10, 10);
        some.sort_unstable();
        assert_eq!(some, (0..10).collect::<Vec<_>>());
        assert_eq!(Draws::new(3).some_of(50, 4), Draws::new(3).some_of(50, 4));
    }
}
