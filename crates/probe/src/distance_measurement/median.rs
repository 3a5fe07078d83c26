//! The median and its exact interval from order statistics.
//!
//! Source: Conover, *Practical Nonparametric Statistics*, 3rd ed., section 3.2 (confidence interval for a quantile). It asks
//! nothing of the distribution but that the values are independent.

use machine::distances::Estimate;

/// The fewest values for which a 95 % interval exists: 2 / 2^6 = 0.031.
pub(super) const FEWEST: usize = 6;

const ERROR: f64 = 0.05;

/// The median; `None` for no values.
pub(super) fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let (last, middle) = (sorted.last()?, sorted.len() / 2);
    Some(match sorted.len() % 2 {
        1 => sorted[middle],
        _ => (sorted[middle - 1] + sorted.get(middle).unwrap_or(last)) / 2.0,
    })
}

/// Median and interval of one value a round; `None` for no values.
pub(super) fn estimate(values: &[f64]) -> Option<Estimate> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let ends = |k: usize| (rounded(sorted[k]), rounded(sorted[sorted.len() - 1 - k]));
    let interval = left_out(sorted.len()).map(ends);
    Some(Estimate { median: rounded(median(&sorted)?), interval, rounds: sorted.len() })
}

/// To a thousandth: what lies below is noise in every unit that is used here.
pub(super) fn rounded(value: f64) -> f64 {
    (value * 1e3).round() / 1e3
}

/// How many values lie outside of the interval at each end: the most for which the chance that the median of the
/// distribution lies outside stays within 5 %.
fn left_out(n: usize) -> Option<usize> {
    // Binomial(n, 1/2), from below. 2^-n is 0 for thousands of values, of which there are none.
    let mut probability = 0.5_f64.powi(n as i32);
    let mut below = probability;
    let mut found = None;
    for k in 0..n / 2 {
        if 2.0 * below > ERROR {
            break;
        }
        found = Some(k);
        probability *= (n - k) as f64 / (k + 1) as f64;
        below += probability;
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn textbook_ranks() {
        // Conover, table A3: from the (k + 1)th smallest to the (k + 1)th largest value.
        for (n, k) in [(6, 0), (8, 0), (9, 1), (12, 2), (15, 3), (20, 5), (25, 7), (51, 18)] {
            assert_eq!(left_out(n), Some(k), "n = {n}");
        }
        assert!((0..FEWEST).all(|n| left_out(n).is_none()));
    }

    #[test]
    fn one_wild_value_moves_neither_median_nor_interval() {
        let mut values: Vec<f64> = (0..12).map(|i| 50.0 + f64::from(i) / 10.0).collect();
        let calm = estimate(&values).unwrap();
        values[11] = 9e6;
        assert_eq!(estimate(&values), Some(calm));
        assert_eq!((calm.median, calm.interval, calm.rounds), (50.55, Some((50.2, 50.9)), 12));
        assert_eq!(estimate(&[]), None);
        assert_eq!(estimate(&[4.0, 2.0]).unwrap().interval, None);
    }

    proptest::proptest! {
        #[test]
        fn the_interval_holds_the_median(values in proptest::collection::vec(0.0f64..1e6, 1..80)) {
            let reported = estimate(&values).unwrap();
            proptest::prop_assert_eq!(reported.interval.is_some(), values.len() >= FEWEST);
            if let Some((low, high)) = reported.interval {
                proptest::prop_assert!(low <= reported.median && reported.median <= high);
            }
        }
    }
}
