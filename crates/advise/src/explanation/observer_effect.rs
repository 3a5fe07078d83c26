//! What observing cost: the figure of an arm while its server's time is accounted for, against its figure without.

use serde::Serialize;
use study::observed_blocks;
use study::schedule;
use study::statistics::signed_rank;
use study::{Facts, Trial};

use super::waterfall::LEVEL;

/// The cost of observing one arm.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ObserverEffect {
    /// The arm.
    pub arm: String,
    /// Observed blocks, each beside the deciding block that it followed.
    pub blocks: usize,
    /// Ratio of the deciding figure, observed to not: Hodges-Lehmann over the log ratios.
    pub ratio: f64,
    /// Its 95 % interval; `None` with fewer than six blocks.
    pub interval: Option<(f64, f64)>,
}

/// The cost of observing each arm that was observed. It is a contrast of its own: terms explain the observed figure.
pub fn observer_effects(facts: &Facts) -> Vec<ObserverEffect> {
    let deciding = schedule::counted(facts.trials.iter().map(|seen| &seen.trial));
    let blocks = observed_blocks::blocks(&facts.study);
    let metric = &facts.evidence.metric;
    let figure =
        |trial: &Trial| trial.figures.get(metric).copied().filter(|value| value.is_finite() && *value > 0.0);
    let log_ratio = |trial: &Trial| {
        let after = blocks.get(trial.block)?.after;
        let beside = deciding.iter().find(|other| other.block == after && other.arm == trial.arm)?;
        Some((figure(trial)? / figure(beside)?).ln())
    };
    let of_arm = |name: &String| {
        let trials =
            facts.observed.iter().map(|seen| &seen.trial).filter(|t| t.arm == *name && t.failed.is_none());
        let ratios: Vec<f64> = trials.filter_map(log_ratio).collect();
        let location = signed_rank::location(&ratios, LEVEL)?;
        Some(ObserverEffect {
            arm: name.clone(),
            blocks: ratios.len(),
            ratio: location.estimate.exp(),
            interval: location.interval.map(|(low, high)| (low.exp(), high.exp())),
        })
    };
    facts.study.arms.iter().filter_map(|arm| of_arm(&arm.name)).collect()
}
