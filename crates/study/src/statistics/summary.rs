//! Descriptive figures of the trials of one arm. They describe; they never decide.

use serde::{Deserialize, Serialize};

/// Mean, standard deviation and range of one figure over the trials of one arm.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// Number of trials.
    pub n: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation between trials (n - 1); `None` for a single trial.
    pub sd: Option<f64>,
    /// Smallest value.
    pub min: f64,
    /// Median.
    pub median: f64,
    /// Largest value.
    pub max: f64,
}

/// The median; `None` for no values.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() {
        0 => None,
        n if n % 2 == 1 => Some(sorted[middle]),
        _ => Some((sorted[middle - 1] + sorted[middle]) / 2.0),
    }
}

/// Summarises the values; `None` for no values.
pub fn summarise(values: &[f64]) -> Option<Summary> {
    let n = values.len();
    let median = median(values)?;
    let mean = values.iter().sum::<f64>() / n as f64;
    let sd =
        (n > 1).then(|| (values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / (n - 1) as f64).sqrt());
    let min = values.iter().copied().fold(f64::INFINITY, f64::min);
    let max = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    Some(Summary { n, mean, sd, min, median, max })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        let s = summarise(&[2.0, 4.0, 4.0, 4.0, 5.0, 5.0, 7.0, 9.0]).unwrap();
        assert_eq!((s.n, s.mean, s.min, s.median, s.max), (8, 5.0, 2.0, 4.5, 9.0));
        assert!((s.sd.unwrap() - 2.138).abs() < 0.001);
        assert_eq!(summarise(&[]), None);
        assert_eq!(summarise(&[3.0]).unwrap().sd, None);
    }
}
