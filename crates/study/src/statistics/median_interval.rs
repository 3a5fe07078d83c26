//! The interval of a median by order statistics: exact for whatever the values come from, as long as they are independent.
//!
//! Source: Conover, *Practical Nonparametric Statistics*, 3rd ed., section 3.2: the number of values below the median is binomial(n, 1/2).

/// Probability that at most `k` of `n` values are below the median.
fn at_most(k: usize, n: usize) -> f64 {
    let mut term = 0.5f64.powi(n as i32);
    let mut sum = term;
    for i in 0..k {
        term *= (n - i) as f64 / (i + 1) as f64;
        sum += term;
    }
    sum
}

/// The narrowest interval between two order statistics, as far from either end, that covers the median with at least `confidence`;
/// `None` with too few values for one.
pub fn of(values: &[f64], confidence: f64) -> Option<(f64, f64)> {
    let n = values.len();
    if n < fewest(confidence) {
        return None;
    }
    let mut rising = values.to_vec();
    rising.sort_by(f64::total_cmp);
    let tail = (1.0 - confidence) / 2.0;
    // Of values k..n-1-k (from 0) the median is outside where at most k are on one side of it.
    let k = (0..n / 2).take_while(|k| at_most(*k, n) <= tail).last()?;
    Some((rising[k], rising[n - 1 - k]))
}

/// The fewest values that have such an interval.
pub fn fewest(confidence: f64) -> usize {
    let tail = ((1.0 - confidence) / 2.0).max(f64::MIN_POSITIVE);
    (1..=1024).find(|n| 0.5f64.powi(*n) <= tail).unwrap_or(1024) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::statistics::draws::Draws;

    #[test]
    fn it_is_that_of_the_tables() {
        // Conover, table A3: for n = 10 and 0.95 the second smallest and second largest, for n = 20 the sixth.
        let values = |n: usize| (1..=n).map(|i| i as f64).collect::<Vec<_>>();
        assert_eq!(of(&values(10), 0.95), Some((2.0, 9.0)));
        assert_eq!(of(&values(20), 0.95), Some((6.0, 15.0)));
        assert_eq!((of(&values(5), 0.95), fewest(0.95)), (None, 6));
        assert_eq!(of(&values(6), 0.95), Some((1.0, 6.0)));
    }

    #[test]
    fn it_covers_the_median_of_a_skewed_distribution_as_often_as_it_says() {
        let mut draws = Draws::new(7);
        let runs = 4000;
        let covered = (0..runs).filter(|_| {
            // Exponential: its median is ln 2.
            let values: Vec<f64> = (0..14).map(|_| -(1.0 - draws.uniform()).ln()).collect();
            let (low, high) = of(&values, 0.95).unwrap();
            (low..=high).contains(&std::f64::consts::LN_2)
        });
        let share = covered.count() as f64 / runs as f64;
        assert!((0.95..0.995).contains(&share), "{share}");
    }
}
