//! What a study could have seen, and how many blocks more would decide. Pure.

use serde::{Deserialize, Serialize};

use super::{Contrast, Evidence, Verdict};
use crate::design;
use crate::statistics::normal;
use crate::statistics::signed_rank::MOST_BLOCKS;

/// Chance with which a difference of the size that is given would have been seen.
const CHANCE: f64 = 0.8;

/// What the comparisons of a study could have seen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Power {
    /// The smallest difference, as a share, that would have been claimed with a chance of 80 % in the least certain comparison.
    pub visible_share: f64,
    /// Blocks beside those that were run with which the comparisons that are open would probably be decided; `None` where nothing is
    /// open, and where no number of blocks that a study may have would do: the difference is as large as the margin.
    pub blocks_more: Option<usize>,
}

/// Reads it off the intervals; `None` where no comparison has one.
pub(super) fn of(evidence: &Evidence) -> Option<Power> {
    let of_baseline = evidence.against_baseline.iter().chain(&evidence.against_other_cpus);
    let known: Vec<(&Contrast, f64)> = of_baseline
        .filter(|contrast| contrast.verdict != Verdict::NotAsAsked)
        .filter_map(|contrast| Some((contrast, half_width(contrast)?)))
        .collect();
    let margin = (1.0 + evidence.precision.margin).ln();
    let family = evidence.against_baseline.len().max(evidence.against_other_cpus.len());
    let widest = known.iter().map(|(_, half_width)| *half_width).max_by(f64::total_cmp)?;
    let share = visible(widest, margin, evidence.precision.alpha, family);
    let open = known
        .iter()
        .filter(|(contrast, _)| matches!(contrast.verdict, Verdict::Undecided | Verdict::CannotTell));
    let needed: Option<Vec<usize>> =
        open.map(|(contrast, half_width)| blocks_needed(contrast, *half_width, margin)).collect();
    let blocks_more = needed.and_then(|needed| needed.into_iter().max()).map(|needed| {
        // Added blocks are judged by themselves: fewer than these can decide nothing at the level that is left for them.
        let fewest = design::fewest_blocks(1, super::super::looks::set_aside(evidence.precision.alpha, 0));
        needed.saturating_sub(evidence.blocks).max(fewest)
    });
    Some(Power { visible_share: share, blocks_more: blocks_more.filter(|more| *more <= MOST_BLOCKS) })
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

/// Blocks with which an interval of this half width would clear the margin, on whichever side the estimate lies.
fn blocks_needed(contrast: &Contrast, half_width: f64, margin: f64) -> Option<usize> {
    let gap = (contrast.ratio.ln().abs() - margin).abs();
    let needed = contrast.blocks as f64 * (half_width / gap).powi(2);
    (needed.is_finite() && needed <= MOST_BLOCKS as f64).then(|| needed.ceil() as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contrast(ratio: f64, interval: (f64, f64)) -> Contrast {
        Contrast {
            arm: "a".into(),
            cpu: None,
            reference: "b".into(),
            blocks: 14,
            ratio,
            interval: Some(interval),
            p_adjusted: 1.0,
            verdict: Verdict::Undecided,
            whose: None,
        }
    }

    #[test]
    fn a_narrow_interval_sees_smaller_differences_and_more_comparisons_see_larger_ones_only() {
        let seen = |half_width, family| visible(half_width, 0.03f64.ln_1p(), 0.05, family);
        assert!(seen(0.01, 1) < seen(0.02, 1) && seen(0.01, 1) < seen(0.01, 4));
        assert!((seen(0.0, 4) - 0.03).abs() < 1e-9, "at best the margin");
    }

    #[test]
    fn blocks_grow_with_the_square_of_what_is_lacking() {
        let margin = 0.03f64.ln_1p();
        let of = |ratio, low, high| {
            let contrast = contrast(ratio, (low, high));
            blocks_needed(&contrast, half_width(&contrast).unwrap(), margin)
        };
        let (near, far) = (of(1.06, 1.0, 1.12).unwrap(), of(1.10, 1.04, 1.16).unwrap());
        assert!(near > far && far < 14, "{near} {far}");
        assert_eq!(of(1.03, 0.99, 1.07), None, "as large as the margin");
    }
}
