//! What a study could have seen. Pure.

use serde::{Deserialize, Serialize};

use super::{Contrast, Verdict};
use crate::recipe::Precision;
use crate::statistics::normal;

/// Chance with which a difference of the size that is given would have been seen.
const CHANCE: f64 = 0.8;

/// What the comparisons of a study could have seen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Power {
    /// The smallest difference, as a share, that would have been claimed with a chance of 80 % in the least certain comparison.
    pub visible_share: f64,
}

/// Reads it off the intervals of the two families of comparisons; `None` where none of them has one.
pub(super) fn of(
    against_baseline: &[Contrast],
    against_other_cpus: &[Contrast],
    precision: Precision,
) -> Option<Power> {
    let all = against_baseline.iter().chain(against_other_cpus);
    let known: Vec<(&Contrast, f64)> = all
        .filter(|contrast| contrast.verdict != Verdict::NotAsAsked)
        .filter_map(|contrast| Some((contrast, half_width(contrast)?)))
        .collect();
    let margin = (1.0 + precision.margin).ln();
    let family = against_baseline.len().max(against_other_cpus.len());
    let widest = known.iter().map(|(_, half_width)| *half_width).max_by(f64::total_cmp)?;
    let share = visible(widest, margin, precision.alpha, family);
    Some(Power { visible_share: share })
}

/// Half the width of a contrast's interval, in logs.
fn half_width(contrast: &Contrast) -> Option<f64> {
    let (low, high) = contrast.interval?;
    Some(((high / low).ln() / 2.0).max(1e-9))
}

/// The difference whose interval, after Holm in a family of so many, lies beyond the margin with the chance that is asked for.
fn visible(half_width: f64, margin: f64, alpha: f64, family: usize) -> f64 {
    let z = normal::upper_quantile(alpha / 2.0);
    let adjusted = normal::upper_quantile(alpha / 2.0 / family.max(1) as f64);
    let standard_error = half_width / z;
    (margin + (adjusted + normal::upper_quantile(1.0 - CHANCE)) * standard_error).exp() - 1.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_narrow_interval_sees_smaller_differences_and_more_comparisons_see_larger_ones_only() {
        let seen = |half_width, family| visible(half_width, 0.03f64.ln_1p(), 0.05, family);
        assert!(seen(0.01, 1) < seen(0.02, 1) && seen(0.01, 1) < seen(0.01, 4));
        assert!((seen(0.0, 4) - 0.03).abs() < 1e-9, "at best the margin");
    }
}
