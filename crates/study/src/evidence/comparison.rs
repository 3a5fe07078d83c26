//! Comparisons within blocks, and families of them that are adjusted together. Pure.

use super::{Contrast, Verdict};
use crate::arm::Arm;
use crate::recipe::{Direction, Precision};
use crate::statistics::holm;
use crate::statistics::signed_rank::{self, p_above, p_below};

/// What all comparisons of one study share.
pub(crate) struct Comparison {
    pub(crate) better: Direction,
    pub(crate) precision: Precision,
    pub(crate) blocks: usize,
}

impl Comparison {
    /// One contrast a row, of which those whose arm is `fit` are adjusted together; the others make no claim.
    pub(crate) fn family_of(
        &self,
        rows: Vec<(&Arm, Vec<f64>, String)>,
        fit: impl Fn(&Arm) -> bool,
    ) -> Vec<Contrast> {
        let order: Vec<&str> = rows.iter().map(|(arm, ..)| arm.name.as_str()).collect();
        let (fit, unfit): (Vec<_>, Vec<_>) = rows.into_iter().partition(|(arm, ..)| fit(arm));
        let mut contrasts = self.family(fit);
        let unfit = unfit.into_iter().flat_map(|row| self.family(vec![row]));
        contrasts.extend(unfit.map(|contrast| Contrast { verdict: Verdict::NotAsAsked, ..contrast }));
        contrasts.sort_by_key(|contrast| order.iter().position(|arm| *arm == contrast.arm));
        contrasts
    }

    /// One contrast a row, adjusted together.
    pub(crate) fn family(&self, rows: Vec<(&Arm, Vec<f64>, String)>) -> Vec<Contrast> {
        let differences: Vec<&[f64]> =
            rows.iter().map(|(_, differences, _)| differences.as_slice()).collect();
        let judged = self.judged(&differences);
        rows.into_iter()
            .zip(judged)
            .filter_map(|((arm, _, reference), judged)| {
                let Judged { ratio, interval, p_adjusted, verdict } = judged?;
                let (arm, cpu, blocks) = (arm.name.clone(), arm.cpu, self.blocks);
                Some(Contrast {
                    arm,
                    cpu,
                    reference,
                    blocks,
                    ratio,
                    interval,
                    p_adjusted,
                    verdict,
                    whose: None,
                })
            })
            .collect()
    }

    /// What may be said of each row of differences of gains, one a block; adjusted together. `None` for a row without values.
    pub(crate) fn judged(&self, rows: &[&[f64]]) -> Vec<Option<Judged>> {
        let margin = (1.0 + self.precision.margin).ln();
        let p: Vec<f64> =
            rows.iter().map(|d| (2.0 * p_above(d, margin).min(p_below(d, -margin))).min(1.0)).collect();
        rows.iter().zip(holm::adjust(&p)).map(|(d, p_adjusted)| self.judge(d, margin, p_adjusted)).collect()
    }

    fn judge(&self, differences: &[f64], margin: f64, p_adjusted: f64) -> Option<Judged> {
        let location = signed_rank::location(differences, 1.0 - self.precision.alpha)?;
        // Equivalence by two one-sided tests (Schuirmann 1987).
        let p_equal = p_above(differences, -margin).max(p_below(differences, margin));
        let verdict = match location.estimate {
            e if p_adjusted <= self.precision.alpha && e > 0.0 => Verdict::Better,
            _ if p_adjusted <= self.precision.alpha => Verdict::Worse,
            _ if p_equal <= self.precision.alpha => Verdict::Equal,
            _ => Verdict::Undecided,
        };
        let interval = location.interval.map(|(low, high)| {
            let (a, b) = (self.better.ratio(low), self.better.ratio(high));
            (a.min(b), a.max(b))
        });
        Some(Judged { ratio: self.better.ratio(location.estimate), interval, p_adjusted, verdict })
    }
}

/// What may be said of one row of differences.
pub(crate) struct Judged {
    pub(crate) ratio: f64,
    pub(crate) interval: Option<(f64, f64)>,
    pub(crate) p_adjusted: f64,
    pub(crate) verdict: Verdict,
}
