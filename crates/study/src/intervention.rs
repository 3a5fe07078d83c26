//! Interventions: small studies that would prove or refute a finding by moving its cause.

use serde::{Deserialize, Serialize};

use crate::arm::Arm;
use crate::evidence::{Comparison, Contrast, Verdict, gains_by_arm};
use crate::recipe::{Direction, Precision};
use crate::statistics::holm;
use crate::statistics::signed_rank::{p_above, p_below};
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
    /// The prediction in words: "cpu 0 becomes faster when the cause is taken away".
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
    /// Id of the finding or claim that it is about; in cases of before 2026-11-26 the finding's title.
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
            let differences: Vec<f64> =
                gains[arm].iter().zip(&gains[reference]).map(|(a, b)| a - b).collect();
            Some((p, (&intervention.arms[arm], differences, p.reference.clone())))
        })
        .collect();
    let (predictions, rows): (Vec<_>, Vec<_>) = rows.into_iter().unzip();
    let p: Vec<f64> =
        predictions.iter().zip(&rows).map(|(p, (_, d, _))| one_sided(p, d, precision)).collect();
    let adjusted = holm::adjust(&p);
    let contrasts = comparison.family(rows);
    predictions
        .into_iter()
        .enumerate()
        .map(|(i, prediction)| Outcome {
            prediction: prediction.clone(),
            contrast: contrasts.get(i).cloned(),
            held: adjusted.get(i).is_some_and(|p| *p <= precision.alpha),
        })
        .collect()
}

/// A prediction names its direction before the trials are run, so that one side is tested: beyond the margin there.
fn one_sided(prediction: &Prediction, differences: &[f64], precision: Precision) -> f64 {
    let margin = (1.0 + precision.margin).ln();
    match prediction.expect {
        Verdict::Better => p_above(differences, margin),
        Verdict::Worse => p_below(differences, -margin),
        Verdict::Equal => p_above(differences, -margin).max(p_below(differences, margin)),
        // Nothing else can be predicted.
        Verdict::Undecided | Verdict::NotAsAsked | Verdict::CannotTell | Verdict::Untrustworthy => 1.0,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use machine::Placement;

    use super::*;
    use crate::arm::Role;

    fn arm(name: &str) -> Arm {
        Arm::new(name, Role::Intervention, Placement::default())
    }

    fn moved() -> Intervention {
        let prediction = |expect| Prediction {
            arm: "moved".into(),
            reference: "found".into(),
            expect,
            words: "becomes faster".into(),
        };
        Intervention {
            what: "a cause".into(),
            arms: vec![arm("found"), arm("moved")],
            predictions: vec![prediction(Verdict::Better)],
        }
    }

    fn trials(blocks: usize, factor: f64) -> Vec<Trial> {
        (0..blocks)
            .flat_map(|block| {
                let noise = 1.0 + 0.01 * block as f64;
                [("found", 100.0 * noise), ("moved", 100.0 * noise * noise * factor)].map(|(arm, figure)| {
                    Trial {
                        block,
                        arm: arm.into(),
                        figures: BTreeMap::from([("requests_per_s".to_string(), figure)]),
                        ..Trial::default()
                    }
                })
            })
            .collect()
    }

    fn held(blocks: usize, factor: f64) -> bool {
        let outcomes = judge(
            &moved(),
            &trials(blocks, factor),
            "requests_per_s",
            Direction::Higher,
            Precision::default(),
        );
        outcomes[0].held
    }

    #[test]
    fn a_prediction_holds_when_it_comes_out_and_not_otherwise() {
        assert!(held(8, 1.3));
        assert!(!held(8, 0.7), "the other way round");
        assert!(!held(8, 1.0 / 1.03), "no more than noise");
        assert!(!held(4, 1.3), "too few blocks");
    }
}
