//! Figures of each arm by block, as what the comparisons are made of. Pure.

use std::collections::{BTreeMap, BTreeSet};

use crate::arm::Arm;
use crate::recipe::Direction;
use crate::trial::Trial;

/// Log figures of one arm by block, signed so that more is better.
pub(crate) type Gains = Vec<f64>;

/// Blocks in which each of these arms has trials, all of them with a figure that a ratio can be taken of: 0 has none to anything.
pub(super) fn complete_blocks(arms: &[&str], trials: &[Trial], metric: &str) -> BTreeSet<usize> {
    let mut by_block: BTreeMap<usize, BTreeSet<&str>> = BTreeMap::new();
    let mut incomplete = BTreeSet::new();
    for trial in trials.iter().filter(|trial| arms.contains(&trial.arm.as_str())) {
        match trial.figures.get(metric).is_some_and(|value| value.is_finite() && *value > 0.0) {
            true => by_block.entry(trial.block).or_default().insert(&trial.arm),
            false => incomplete.insert(trial.block),
        };
    }
    by_block.retain(|at, there| !incomplete.contains(at) && arms.iter().all(|arm| there.contains(arm)));
    by_block.into_keys().collect()
}

/// The gains of every arm over the complete blocks, in order of `arms`, and how many complete blocks there are.
pub(crate) fn gains_by_arm(
    arms: &[Arm],
    trials: &[Trial],
    metric: &str,
    better: Direction,
) -> (Vec<Gains>, usize) {
    let names: Vec<&str> = arms.iter().map(|arm| arm.name.as_str()).collect();
    let complete = complete_blocks(&names, trials, metric);
    let mut by_block: BTreeMap<usize, BTreeMap<&str, BTreeMap<usize, f64>>> = BTreeMap::new();
    for trial in trials.iter().filter(|trial| complete.contains(&trial.block)) {
        if let Some(value) = trial.figures.get(metric) {
            let of_arm = by_block.entry(trial.block).or_default().entry(&trial.arm).or_default();
            of_arm.insert(trial.position, better.gain(*value));
        }
    }
    // The boot is the unit, however many trials of an arm it has: its gain is their mean.
    let gain = |of_arm: &BTreeMap<usize, f64>| of_arm.values().sum::<f64>() / of_arm.len() as f64;
    let gains = arms
        .iter()
        .map(|arm| by_block.values().map(|block| gain(&block[arm.name.as_str()])).collect())
        .collect();
    (gains, by_block.len())
}

pub(super) fn mean_by_block(arms: &[&Gains], blocks: usize) -> Gains {
    (0..blocks).map(|b| arms.iter().map(|g| g[b]).sum::<f64>() / arms.len().max(1) as f64).collect()
}

pub(super) fn differences(a: &Gains, b: &Gains) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}
