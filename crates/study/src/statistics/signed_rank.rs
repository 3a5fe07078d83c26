//! The Wilcoxon signed-rank test and the Hodges-Lehmann estimate with its exact interval.
//!
//! Source: Hollander, Wolfe, Chicken, *Nonparametric Statistical Methods*, 3rd ed., sections 3.1 to 3.3.
//! One value a block (a log ratio within the block), symmetric about its location under the null hypothesis:
//! what drifts from block to block cancels, and one slow run costs one rank, not the mean.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};

/// The fewest blocks for which a 95 % interval exists: 2 / 2^6 = 0.031.
pub const FEWEST_FOR_95: usize = 6;

/// The most blocks that a study may have: the exact distribution of so many takes some 0.1 s to count.
pub const MOST_BLOCKS: usize = 400;

/// A location with its interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Location {
    /// Hodges-Lehmann estimate: the median of all Walsh averages.
    pub estimate: f64,
    /// The interval, when there are enough values for one at the level asked for.
    pub interval: Option<(f64, f64)>,
}

/// All averages of pairs (i <= j), rising.
fn walsh_averages(values: &[f64]) -> Vec<f64> {
    let mut averages: Vec<f64> =
        values.iter().enumerate().flat_map(|(i, a)| values[i..].iter().map(move |b| (a + b) / 2.0)).collect();
    averages.sort_by(f64::total_cmp);
    averages
}

/// How many of the 2^n sign patterns give each sum of positive ranks; `doubled_ranks` are twice the midranks, so
/// that ties keep them whole numbers. Divided by 2^n as it goes, so that it neither overflows nor loses the tail.
pub(super) fn distribution(doubled_ranks: &[usize]) -> Vec<f64> {
    let total: usize = doubled_ranks.iter().sum();
    // Without ties all are even, and so is every sum.
    let step = if doubled_ranks.iter().all(|rank| rank % 2 == 0) { 2 } else { 1 };
    let mut probability = vec![0.0; total / step + 1];
    let mut before = probability.clone();
    probability[0] = 1.0;
    let mut reached = 0;
    for rank in doubled_ranks.iter().map(|rank| rank / step) {
        std::mem::swap(&mut probability, &mut before);
        let (old, new) = (&before[..=reached], &mut probability[..=reached + rank]);
        // Each sum is kept with this rank on the negative side, and grows by it on the positive one; from one vector into another, so
        // that the compiler takes several at once.
        new[reached + 1..].fill(0.0);
        new[..=reached].iter_mut().zip(old).for_each(|(new, old)| *new = old / 2.0);
        new[rank..].iter_mut().zip(old).for_each(|(new, old)| *new += old / 2.0);
        reached += rank;
    }
    match step {
        1 => probability,
        _ => probability.into_iter().flat_map(|p| [p, 0.0]).take(total + 1).collect(),
    }
}

/// Counted distributions that are kept: a study asks for those of a few numbers of blocks again and again.
const KEPT: usize = 16;

static WITHOUT_TIES: Mutex<BTreeMap<usize, Arc<[f64]>>> = Mutex::new(BTreeMap::new());

/// The distribution of the sum of positive ranks of `n` values without ties.
fn without_ties(n: usize) -> Arc<[f64]> {
    let known = |kept: &BTreeMap<usize, Arc<[f64]>>| kept.get(&n).cloned();
    if let Some(known) = known(&WITHOUT_TIES.lock().unwrap_or_else(PoisonError::into_inner)) {
        return known;
    }
    let counted: Arc<[f64]> = distribution(&(1..=n).collect::<Vec<_>>()).into();
    let mut kept = WITHOUT_TIES.lock().unwrap_or_else(PoisonError::into_inner);
    if kept.len() >= KEPT {
        kept.pop_first();
    }
    kept.insert(n, counted.clone());
    counted
}

/// Twice the midranks of the magnitudes.
fn doubled_midranks(magnitudes: &[f64]) -> Vec<usize> {
    magnitudes
        .iter()
        .map(|m| {
            let below = magnitudes.iter().filter(|o| *o < m).count();
            let equal = magnitudes.iter().filter(|o| *o == m).count();
            2 * below + equal + 1
        })
        .collect()
}

/// One-sided p: how likely a rank sum at least this large is if the values lie symmetrically about `location`.
/// Small means that the values lie *above* `location`. Values equal to `location` are left out (Wilcoxon's way);
/// with none left the answer is 1.
pub fn p_above(values: &[f64], location: f64) -> f64 {
    let shifted: Vec<f64> = values.iter().map(|v| v - location).filter(|v| *v != 0.0).collect();
    if shifted.is_empty() {
        return 1.0;
    }
    let magnitudes: Vec<f64> = shifted.iter().map(|v| v.abs()).collect();
    let ranks = doubled_midranks(&magnitudes);
    let positive: usize = shifted.iter().zip(&ranks).filter(|(v, _)| **v > 0.0).map(|(_, r)| r).sum();
    let sum = |from: &[f64]| from.iter().sum::<f64>().min(1.0);
    // Midranks of different values are all different.
    let mut different = vec![false; 2 * ranks.len() + 1];
    let is_untied = ranks.iter().all(|rank| !std::mem::replace(&mut different[*rank], true));
    match is_untied {
        true => sum(&without_ties(ranks.len())[positive / 2..]),
        false => sum(&distribution(&ranks)[positive..]),
    }
}

/// One-sided p for the values lying *below* `location`.
pub fn p_below(values: &[f64], location: f64) -> f64 {
    let mirrored: Vec<f64> = values.iter().map(|v| -v).collect();
    p_above(&mirrored, -location)
}

/// The Hodges-Lehmann estimate of the values and its exact interval at `level` (0.95, say).
///
/// `None` for no values; the interval is `None` where so few values allow none at that level.
pub fn location(values: &[f64], level: f64) -> Option<Location> {
    if values.is_empty() {
        return None;
    }
    let averages = walsh_averages(values);
    let middle = averages.len() / 2;
    let estimate = match averages.len() % 2 {
        1 => averages[middle],
        _ => (averages[middle - 1] + averages[middle]) / 2.0,
    };
    let interval = outer_ranks(values.len(), level).map(|k| (averages[k], averages[averages.len() - 1 - k]));
    Some(Location { estimate, interval })
}

/// How many Walsh averages to leave out at each end for an interval at `level`.
fn outer_ranks(n: usize, level: f64) -> Option<usize> {
    let tail = (1.0 - level) / 2.0;
    let mut below = 0.0;
    let mut left_out = None;
    for (k, probability) in without_ties(n).iter().enumerate() {
        below += *probability;
        if below > tail {
            break;
        }
        left_out = Some(k);
    }
    left_out
}

/// The largest two-sided level not above `level` that the test of `n` values without ties can attain; 0 where there is none.
pub fn attained_level(n: usize, level: f64) -> f64 {
    let counted = without_ties(n);
    let sums = counted.iter().scan(0.0, |tail, p| {
        *tail += p;
        Some(2.0 * *tail)
    });
    // A hair more, since p-values are summed up from the other end.
    sums.take_while(|p| *p <= level).last().map_or(0.0, |p| p * (1.0 + 1e-9))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn textbook_quantiles() {
        // Two-sided 0.05 critical values of the signed-rank sum: n=6: 0, n=8: 3, n=10: 8, n=20: 52.
        for (n, critical) in [(6, 0), (8, 3), (10, 8), (20, 52)] {
            assert_eq!(outer_ranks(n, 0.95), Some(critical), "n = {n}");
        }
        assert_eq!(outer_ranks(5, 0.95), None);
    }

    #[test]
    fn kept_distributions_are_those_that_are_counted() {
        for n in (1..=40).chain([1, 7, 40]) {
            assert_eq!(without_ties(n)[..], distribution(&(1..=n).collect::<Vec<_>>())[..], "n = {n}");
        }
        let untied = [0.1, -0.2, 0.3, 0.4, -0.5, 0.6];
        let doubled: Vec<usize> = (1..=6).map(|rank| 2 * rank).collect();
        let counted: f64 = distribution(&doubled)[2 * (1 + 3 + 4 + 6)..].iter().sum();
        assert!((p_above(&untied, 0.0) - counted).abs() < 1e-12);
    }

    #[test]
    fn attainable_levels() {
        // Two-sided p of the sums 0, 1, 2 (one pattern each) and 3 (two) of 256 patterns: 2, 4, 6, 10 of 256.
        for (level, patterns) in [(0.05, 10.0), (0.03, 6.0), (0.0157, 4.0), (0.008, 2.0), (0.007, 0.0)] {
            assert!((attained_level(8, level) - patterns / 256.0).abs() < 1e-9, "{level}");
        }
    }

    #[test]
    fn all_positive_is_two_to_the_minus_n() {
        let values = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6];
        assert!((p_above(&values, 0.0) - 1.0 / 64.0).abs() < 1e-12);
        assert!((p_below(&values, 0.0) - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_estimate_withstands_one_wild_value() {
        let values = [0.01, 0.02, 0.0, -0.01, 0.01, 0.0, 0.02, 5.0];
        let found = location(&values, 0.95).unwrap();
        assert!(found.estimate.abs() < 0.03, "{found:?}");
        assert_eq!(location(&[], 0.95), None);
    }

    #[test]
    fn ties_and_zeros_stay_exact() {
        assert_eq!(p_above(&[0.0, 0.0], 0.0), 1.0);
        // Four equal positive values: every sign pattern but one has a smaller sum.
        assert!((p_above(&[1.0; 4], 0.0) - 1.0 / 16.0).abs() < 1e-12);
    }

    proptest::proptest! {
        #[test]
        fn interval_and_test_agree(values in proptest::collection::vec(-1.0f64..1.0, 6..14)) {
            // The interval holds exactly the locations that the two-sided test does not reject.
            let (low, high) = location(&values, 0.95).unwrap().interval.unwrap();
            for outside in [low - 1e-6, high + 1e-6] {
                let p = 2.0 * p_above(&values, outside).min(p_below(&values, outside));
                proptest::prop_assert!(p <= 0.05 + 1e-9, "p {} just outside", p);
            }
            if high - low > 1e-3 {
                for inside in [low + 1e-6, high - 1e-6] {
                    let p = 2.0 * p_above(&values, inside).min(p_below(&values, inside));
                    proptest::prop_assert!(p > 0.05 - 1e-9, "p {} just inside", p);
                }
            }
        }

        #[test]
        fn mirrored_values_mirror_the_estimate(values in proptest::collection::vec(-1.0f64..1.0, 1..20)) {
            let mirrored: Vec<f64> = values.iter().map(|v| -v).collect();
            let (a, b) = (location(&values, 0.95).unwrap(), location(&mirrored, 0.95).unwrap());
            proptest::prop_assert!((a.estimate + b.estimate).abs() < 1e-12);
        }
    }
}
