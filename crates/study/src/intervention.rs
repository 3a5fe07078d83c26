//! Interventions: small studies that would prove or refute a finding by moving its cause.

use serde::{Deserialize, Serialize};

use crate::arm::Arm;
use crate::evidence::{Comparison, Contrast, Verdict, gains_by_arm};
use crate::recipe::{Direction, Precision};
use crate::trial::Trial;

/// What must come out if the mechanism is true.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Prediction {
    /// The arm with the cause moved.
    pub arm: String,
    /// The arm that it is compared with.
    pub reference: String,
    /// `Better`, `Worse` or `Equal`.
    pub expect: Verdict,
    /// The prediction in words: "cpu 0 turns fast when the cause is taken away".
    pub words: String,
}

/// A small study with predictions.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Intervention {
    /// What is moved from where to where, in words.
    pub what: String,
    /// The arms; each holds the cause as it was found, or moved.
    pub arms: Vec<Arm>,
    /// What must come out.
    pub predictions: Vec<Prediction>,
}

/// How one prediction came out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// The prediction.
    pub prediction: Prediction,
    /// What was measured; `None` with too few blocks.
    pub contrast: Option<Contrast>,
    /// Whether it came out as predicted.
    pub held: bool,
}

/// How an intervention came out.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// Title of the finding that it is about.
    pub finding: String,
    /// The intervention.
    pub intervention: Intervention,
    /// Folder of its trials within the case, so that the proof can be computed again.
    pub trials: String,
    /// One a prediction.
    pub outcomes: Vec<Outcome>,
}

impl Proof {
    /// Whether every prediction held (and there was one).
    pub fn holds(&self) -> bool {
        !self.outcomes.is_empty() && self.outcomes.iter().all(|o| o.held)
    }

    /// Whether a prediction came out the other way round: the mechanism is refuted, not just unproved.
    pub fn refuted(&self) -> bool {
        self.outcomes.iter().any(|o| {
            let found = o.contrast.as_ref().map(|c| c.verdict);
            matches!(
                (o.prediction.expect, found),
                (Verdict::Better, Some(Verdict::Worse | Verdict::Equal))
                    | (Verdict::Worse, Some(Verdict::Better | Verdict::Equal))
            )
        })
    }
}

/// Compares what came out with what was predicted; the predictions of one intervention are one family of claims.
pub fn judge(
    intervention: &Intervention,
    trials: &[Trial],
    metric: &str,
    better: Direction,
    precision: Precision,
) -> Vec<Outcome> {
    let (gains, blocks) = gains_by_arm(&intervention.arms, trials, metric, better);
    let comparison = Comparison { better, precision, blocks };
    let index = |name: &str| intervention.arms.iter().position(|a| a.name == name);
    let rows: Vec<_> = intervention
        .predictions
        .iter()
        .filter_map(|p| {
            let (arm, reference) = (index(&p.arm)?, index(&p.reference)?);
            let differences = gains[arm].iter().zip(&gains[reference]).map(|(a, b)| a - b).collect();
            Some((p, (&intervention.arms[arm], differences, p.reference.clone())))
        })
        .collect();
    let (predictions, rows): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
    let contrasts = comparison.family(rows);
    predictions
        .into_iter()
        .enumerate()
        .map(|(i, prediction)| {
            let contrast = contrasts.get(i).cloned();
            let held = contrast.as_ref().is_some_and(|c| c.verdict == prediction.expect);
            Outcome { prediction: prediction.clone(), contrast, held }
        })
        .collect()
}
