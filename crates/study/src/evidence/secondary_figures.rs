//! Figures that are compared beside the one that decides: each a family of its own, and none decides anything. Pure.

use serde::{Deserialize, Serialize};

use super::comparison::Comparison;
use super::gains::{differences, gains_by_arm, mean_by_block};
use super::{ArmSummary, Contrast, Trust};
use crate::arm::{Arm, Role, baseline_name};
use crate::case::Resolved;
use crate::recipe::{Also, Direction, Precision};
use crate::schedule::attempts;
use crate::trial::Trial;

/// What the trials say of one such figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct AlsoCompared {
    /// The figure.
    pub metric: String,
    /// Its unit, where known.
    pub unit: String,
    /// Which way is better.
    pub better: Direction,
    /// Blocks in which every arm has a value.
    pub blocks: usize,
    /// Every candidate against the baseline.
    pub against_baseline: Vec<Contrast>,
}

/// The other figures of the recipe, over the first `blocks` blocks, of the arms that the evidence on the deciding figure is about, and as
/// precise and trusted as that is.
pub(super) fn of(
    study: &Resolved,
    weighed: &[ArmSummary],
    level: (Precision, Trust),
    trials: &[Trial],
    blocks: usize,
) -> Vec<AlsoCompared> {
    let within: Vec<Trial> = trials.iter().filter(|trial| trial.block < blocks).cloned().collect();
    let counted = attempts::counted(&within);
    // Not those that were given up, nor those that a search left on its way.
    let is_weighed = |arm: &&Arm| weighed.iter().any(|of| of.arm == arm.name);
    let arms: Vec<Arm> = study.arms.iter().filter(is_weighed).cloned().collect();
    study.recipe.also.iter().map(|also| compared(also, level, &arms, &counted)).collect()
}

fn compared(
    also: &Also,
    (precision, trust): (Precision, Trust),
    arms: &[Arm],
    trials: &[Trial],
) -> AlsoCompared {
    let better = also.direction();
    let (gains, blocks) = gains_by_arm(arms, trials, &also.metric, better);
    let comparison = Comparison { better, precision, blocks };
    let of_role = |role: Role| arms.iter().zip(&gains).filter(move |(arm, _)| arm.role == role);
    let baselines: Vec<_> = of_role(Role::Baseline).map(|(_, gains)| gains).collect();
    let (baseline, name) = (mean_by_block(&baselines, blocks), baseline_name(arms));
    let rows =
        of_role(Role::Candidate).map(|(arm, own)| (arm, differences(own, &baseline), name.clone())).collect();
    let mut against_baseline = comparison.family(rows);
    if let Some(instead) = trust.instead() {
        against_baseline.iter_mut().for_each(|contrast| contrast.verdict = instead);
    }
    AlsoCompared {
        metric: also.metric.clone(),
        unit: trials.iter().find_map(|t| t.units.get(&also.metric).cloned()).unwrap_or_default(),
        better,
        blocks,
        against_baseline,
    }
}
