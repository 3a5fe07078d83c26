//! How well the mean of one run is known, when its intervals depend on one another: batch means.
//!
//! A run of 100 intervals whose neighbours are alike says less than 100 independent values. Means of long enough batches are
//! nearly independent, and their spread gives the error of the whole mean. Batches begin with the root of the length (Flegal
//! and Jones 2010, Annals of Statistics 38, whose condition for consistency that is) and are doubled until neighbouring batch
//! means no longer go together (Fishman and Yarberry 1997, INFORMS Journal on Computing 9), by von Neumann's ratio (1941,
//! Annals of Mathematical Statistics 12). Where too few batches are left for that, the run is too short to tell.

use serde::{Deserialize, Serialize};

use super::normal::upper_tail;

/// With fewer batches the spread of their means is itself not known.
const FEWEST_BATCHES: usize = 8;

/// Batch means go together when their ratio is so unlikely by chance (one-sided, as in Fishman and Yarberry).
const TOGETHER: f64 = 0.1;

/// What a run says of its own mean.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum RunMean {
    /// So well known.
    Known {
        /// Mean of all intervals that the batches cover.
        mean: f64,
        /// Its standard error, in the unit of the mean.
        standard_error: f64,
        /// So many independent intervals would say as much; at most the number of intervals.
        effective_size: f64,
        /// Intervals in a batch.
        batch: usize,
        /// Batches: their number less one is the number of degrees of freedom of the error.
        batches: usize,
    },
    /// Batches long enough to be independent are too few.
    TooShort {
        /// Intervals that there are.
        intervals: usize,
    },
}

/// The mean of `per_interval` with its standard error. Intervals that no batch takes are left out at the start, where what is
/// left of the warm-up lies.
pub fn run_mean(per_interval: &[f64]) -> RunMean {
    let n = per_interval.len();
    let mut batch = (n as f64).sqrt() as usize;
    while batch > 0 && n / batch >= FEWEST_BATCHES {
        let batches = n / batch;
        let kept = &per_interval[n - batches * batch..];
        let means: Vec<f64> = kept.chunks_exact(batch).map(mean).collect();
        if !go_together(&means) {
            let standard_error = (variance(&means) / batches as f64).sqrt();
            let independent = variance(kept) / standard_error.powi(2);
            let most = kept.len() as f64;
            let effective_size = if independent.is_finite() { independent.min(most) } else { most };
            return RunMean::Known { mean: mean(kept), standard_error, effective_size, batch, batches };
        }
        batch *= 2;
    }
    RunMean::TooShort { intervals: n }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}

fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (values.len() - 1) as f64
}

/// Whether neighbours are more alike than chance makes them: von Neumann's ratio of squared steps to squared deviations.
fn go_together(means: &[f64]) -> bool {
    let m = means.len() as f64;
    let deviations = variance(means) * (m - 1.0);
    if deviations <= 0.0 {
        return false;
    }
    let steps: f64 = means.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
    let correlation = 1.0 - steps / (2.0 * deviations);
    // Its standard deviation without any dependence.
    let z = correlation * ((m * m - 1.0) / (m - 2.0)).sqrt();
    upper_tail(z) < TOGETHER
}

#[cfg(test)]
mod tests {
    use rand_chacha::ChaCha8Rng;
    use rand_core::{Rng, SeedableRng};

    use super::*;

    /// An autoregression of mean 100 and variance 1: each interval keeps `kept` of the one before.
    fn run(kept: f64, intervals: usize, seed: u64) -> Vec<f64> {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let mut uniform = move || (rng.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        let mut normal =
            move || (-2.0 * (1.0 - uniform()).ln()).sqrt() * (std::f64::consts::TAU * uniform()).cos();
        let mut state = normal();
        (0..intervals)
            .map(|_| {
                state = kept * state + (1.0 - kept * kept).sqrt() * normal();
                100.0 + state
            })
            .collect()
    }

    /// Median effective size, and share of runs whose mean +- 2.1 errors holds the truth, among those that are long enough.
    fn over_runs(kept: f64, intervals: usize) -> (f64, f64, usize) {
        let (mut sizes, mut held) = (Vec::new(), 0);
        for seed in 0..300 {
            if let RunMean::Known { mean, standard_error, effective_size, .. } =
                run_mean(&run(kept, intervals, seed))
            {
                sizes.push(effective_size);
                held += usize::from((mean - 100.0).abs() <= 2.1 * standard_error);
            }
        }
        let share = f64::from(held as u32) / sizes.len().max(1) as f64;
        (super::super::summary::median(&sizes).unwrap_or(0.0), share, sizes.len())
    }

    #[test]
    fn von_neumann_agrees_with_its_definition() {
        // 1 2 3 4 5 6 7 8: steps 7, deviations 42; correlation 1 - 7/84 = 0.9167, z = 2.971.
        let rising: Vec<f64> = (1..=8).map(f64::from).collect();
        assert!(go_together(&rising));
        assert!(!go_together(&[1.0, 2.0, 1.0, 2.0, 1.0, 2.0, 1.0, 2.0]));
        assert!(!go_together(&[3.0; 8]));
    }

    #[test]
    fn independent_intervals_count_in_full() {
        let (size, held, known) = over_runs(0.0, 400);
        assert!((300.0..=400.0).contains(&size), "{size}");
        assert!(held >= 0.92 && known >= 290, "{held} {known}");
    }

    #[test]
    fn dependent_intervals_count_as_few() {
        // Theory: n (1 - kept) / (1 + kept): 1000 at 0.8 count as 111.
        let (size, held, known) = over_runs(0.8, 1000);
        assert!((80.0..170.0).contains(&size), "{size}");
        assert!(held >= 0.88 && known >= 200, "{held} {known}");
    }

    #[test]
    fn a_run_shorter_than_its_memory_is_too_short() {
        let (_, _, known) = over_runs(0.99, 100);
        assert!(known < 100, "{known} of 300 are known");
        assert_eq!(run_mean(&[]), RunMean::TooShort { intervals: 0 });
        assert_eq!(run_mean(&[1.0, 2.0]), RunMean::TooShort { intervals: 2 });
        let drifting: Vec<f64> = (0..100).map(f64::from).collect();
        assert_eq!(run_mean(&drifting), RunMean::TooShort { intervals: 100 });
    }

    #[test]
    fn a_constant_run_has_no_error() {
        let RunMean::Known { mean, standard_error, effective_size, .. } = run_mean(&[7.0; 100]) else {
            panic!("too short")
        };
        assert_eq!((mean, standard_error, effective_size), (7.0, 0.0, 100.0));
    }

    proptest::proptest! {
        #[test]
        fn scale_and_origin_do_not_matter(seed in 0u64..500, scale in 0.1f64..10.0, origin in -50.0f64..50.0) {
            let one = run(0.5, 200, seed);
            let other: Vec<f64> = one.iter().map(|v| v * scale + origin).collect();
            match (run_mean(&one), run_mean(&other)) {
                (
                    RunMean::Known { standard_error: a, effective_size: x, .. },
                    RunMean::Known { standard_error: b, effective_size: y, .. },
                ) => {
                    proptest::prop_assert!((b / a / scale - 1.0).abs() < 1e-6);
                    proptest::prop_assert!((x / y - 1.0).abs() < 1e-6);
                }
                (a, b) => proptest::prop_assert_eq!(a, b),
            }
        }
    }
}
