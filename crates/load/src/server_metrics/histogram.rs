//! A histogram of an exposition: how many observations were at most each bound. Pure.

use super::figure::Figure;

/// Counts up to each bound, rising; the last bound is +Inf.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Histogram {
    buckets: Vec<(f64, f64)>,
    sum: Option<f64>,
}

/// Nothing to take a mean or a quantile of.
pub(super) const NOTHING: &str = "nothing was observed in this time";

impl Histogram {
    /// Of these bounds with their counts, in any order, and what `_count` and `_sum` say. The error says what contradicts.
    pub(super) fn new(
        mut buckets: Vec<(f64, f64)>,
        count: Option<f64>,
        sum: Option<f64>,
    ) -> Result<Self, String> {
        buckets.sort_by(|a, b| a.0.total_cmp(&b.0));
        if buckets.last().is_none_or(|(bound, _)| *bound != f64::INFINITY) {
            buckets.push((f64::INFINITY, count.ok_or("has neither a bucket up to +Inf nor a count")?));
        }
        if buckets.iter().any(|(bound, count)| bound.is_nan() || !(count.is_finite() && *count >= 0.0)) {
            return Err("has a bucket whose bound or count is not a number".into());
        }
        if buckets.windows(2).any(|pair| pair[0].0 == pair[1].0) {
            return Err("has two buckets up to the same bound".into());
        }
        if buckets.windows(2).any(|pair| pair[0].1 > pair[1].1) {
            return Err("has a bucket that counts less than one within it".into());
        }
        Ok(Self { buckets, sum })
    }

    /// What was observed since `before`. The error says why that is not known.
    pub(super) fn since(&self, before: &Self) -> Result<Self, String> {
        let is_same = self.buckets.len() == before.buckets.len()
            && self.buckets.iter().zip(&before.buckets).all(|(now, then)| now.0 == then.0);
        if !is_same {
            return Err("has other buckets than before".into());
        }
        let pairs = self.buckets.iter().zip(&before.buckets);
        let buckets: Vec<(f64, f64)> = pairs.map(|(now, then)| (now.0, now.1 - then.1)).collect();
        let falls = buckets.windows(2).any(|pair| pair[0].1 > pair[1].1);
        if falls || buckets.iter().any(|(_, count)| *count < 0.0) {
            return Err("was reset in this time: a bucket counts less than before".into());
        }
        let sum = self.sum.zip(before.sum).map(|(now, then)| now - then);
        Ok(Self { buckets, sum })
    }

    /// How many observations.
    pub(super) fn count(&self) -> f64 {
        self.buckets.last().map_or(0.0, |(_, count)| *count)
    }

    /// Their mean. The error says why there is none.
    pub(super) fn mean(&self) -> Result<Figure, String> {
        if self.count() <= 0.0 {
            return Err(NOTHING.into());
        }
        let sum = self.sum.ok_or("has no sum, from which the mean follows")?;
        Ok(Figure::exactly(sum / self.count()).of(self.count()))
    }

    /// The value that this share of observations does not exceed, within the bounds of its bucket. Between them observations are taken
    /// to lie evenly, and the lowest bucket to begin at 0. The error says why there is none.
    pub(super) fn quantile(&self, share: f64) -> Result<Figure, String> {
        let total = self.count();
        if total <= 0.0 {
            return Err(NOTHING.into());
        }
        let rank = share * total;
        let at = self.buckets.iter().position(|(_, count)| *count >= rank).unwrap_or(self.buckets.len() - 1);
        let (upper, up_to) = self.buckets[at];
        let below = at.checked_sub(1).map(|below| self.buckets[below]);
        let (lower, before) = match below {
            Some(below) => below,
            None if upper > 0.0 && upper.is_finite() => (0.0, 0.0),
            None => return Err("lies in the lowest bucket, which has no lower bound".into()),
        };
        if !lower.is_finite() {
            return Err("lies in a bucket without a lower bound".into());
        }
        if upper == f64::INFINITY {
            return Ok(Figure { value: lower, at_least: lower, at_most: None, observations: Some(total) });
        }
        // The first bucket that reaches the rank: its own count is not 0.
        let value = lower + (upper - lower) * ((rank - before) / (up_to - before)).clamp(0.0, 1.0);
        Ok(Figure { value, at_least: lower, at_most: Some(upper), observations: Some(total) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(counts: [f64; 4], sum: f64) -> Histogram {
        let bounds = [0.01, 0.1, 1.0, f64::INFINITY];
        Histogram::new(bounds.into_iter().zip(counts).collect(), None, Some(sum)).unwrap()
    }

    #[test]
    fn a_quantile_is_interpolated_within_its_bucket_of_the_difference() {
        let (before, after) = (of([100.0, 100.0, 100.0, 100.0], 0.5), of([110.0, 190.0, 200.0, 200.0], 6.5));
        let window = after.since(&before).unwrap();
        assert_eq!((window.count(), window.mean().unwrap().value), (100.0, 0.06));
        // Half of 100: 40 of the 80 between 0.01 and 0.1.
        let median = window.quantile(0.5).unwrap();
        assert!((median.value - 0.055).abs() < 1e-12, "{median:?}");
        assert_eq!((median.at_least, median.at_most, median.observations), (0.01, Some(0.1), Some(100.0)));
        assert!((window.quantile(0.05).unwrap().value - 0.005).abs() < 1e-12, "from 0 on");
        assert!((window.quantile(0.95).unwrap().value - 0.55).abs() < 1e-12);
    }

    #[test]
    fn above_the_last_bound_only_that_is_known() {
        let figure = of([0.0, 0.0, 1.0, 10.0], 0.0).quantile(0.5).unwrap();
        assert_eq!((figure.at_least, figure.at_most), (1.0, None));
        let endless = Histogram::new(vec![(f64::INFINITY, 3.0)], None, None).unwrap();
        assert!(endless.quantile(0.5).unwrap_err().contains("no lower bound"));
        assert!(endless.mean().unwrap_err().contains("no sum"));
        let negative = Histogram::new(vec![(-1.0, 3.0)], Some(3.0), None).unwrap();
        assert!(negative.quantile(0.5).unwrap_err().contains("no lower bound"));
    }

    #[test]
    fn a_reset_other_buckets_and_silence_give_no_figure() {
        let (less, more) = (of([1.0, 2.0, 3.0, 4.0], 1.0), of([2.0, 4.0, 6.0, 8.0], 2.0));
        assert!(less.since(&more).unwrap_err().contains("reset"));
        // Restarted, and busier since than before in all: the difference of the buckets falls.
        assert!(
            of([1.0, 5.0, 9.0, 9.0], 1.0)
                .since(&of([0.0, 4.0, 8.0, 9.0], 1.0))
                .unwrap_err()
                .contains("reset")
        );
        let other = Histogram::new(vec![(0.5, 1.0)], Some(9.0), None).unwrap();
        assert!(other.since(&less).unwrap_err().contains("other buckets"));
        assert_eq!(less.since(&less).unwrap().quantile(0.5).unwrap_err(), NOTHING);
        assert_eq!(less.since(&less).unwrap().mean().unwrap_err(), NOTHING);
    }

    #[test]
    fn what_contradicts_itself_is_no_histogram() {
        let why = |buckets: &[(f64, f64)]| Histogram::new(buckets.to_vec(), None, None).unwrap_err();
        let inf = f64::INFINITY;
        assert!(why(&[(1.0, 1.0)]).contains("neither"));
        assert!(why(&[]).contains("neither"));
        assert!(why(&[(1.0, 3.0), (inf, 2.0)]).contains("less than one within"));
        assert!(why(&[(1.0, 3.0), (1.0, 3.0), (inf, 4.0)]).contains("same bound"));
        assert!(why(&[(1.0, f64::NAN), (inf, 4.0)]).contains("not a number"));
        assert!(why(&[(-f64::NAN, 1.0), (inf, 4.0)]).contains("not a number"));
        assert!(why(&[(inf, -4.0)]).contains("not a number"));
        assert!(why(&[(inf, inf)]).contains("not a number"));
    }

    proptest::proptest! {
        #[test]
        fn quantiles_lie_within_their_bounds_and_rise(counts in proptest::collection::vec(0u32..1000, 4), share in 0.001f64..0.999) {
            let mut sum = 0.0;
            let bounds = [0.01, 0.1, 1.0, f64::INFINITY];
            let buckets = bounds.into_iter().zip(counts).map(|(bound, count)| { sum += f64::from(count); (bound, sum) }).collect();
            let histogram = Histogram::new(buckets, None, None).unwrap();
            if let Ok(figure) = histogram.quantile(share) {
                proptest::prop_assert!(figure.value >= figure.at_least);
                proptest::prop_assert!(figure.at_most.is_none_or(|most| figure.value <= most));
                let higher = histogram.quantile(share + 0.001).unwrap();
                proptest::prop_assert!(higher.value >= figure.value - 1e-12);
            }
        }
    }
}
