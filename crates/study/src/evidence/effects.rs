//! Effects of factors, where a study has several: within each block a linear model of the arms, then the signed-rank test over
//! the blocks. Pure.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Verdict;
use super::comparison::{Comparison, Judged};
use super::gains::Gains;
use crate::arm::{Arm, Role};
use crate::linear_model::{At, Fitted, Model, Terms};
use crate::recipe::MOST_ARMS;

/// What the level of a factor does, averaged over the levels of all others; or how that depends on the level of another.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Effect {
    /// The factor.
    pub factor: String,
    /// Its level.
    pub level: String,
    /// The level that it is compared with: the factor's first.
    pub against: String,
    /// Of an interaction: the other factor, its level, and its first level.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<[String; 3]>,
    /// Blocks that it rests on.
    pub blocks: usize,
    /// Ratio of the figure; of an interaction: by how much the ratio itself changes.
    pub ratio: f64,
    /// Exact signed-rank interval of the ratio at `1 - alpha`, not adjusted.
    pub interval: Option<(f64, f64)>,
    /// Two-sided p that it is no larger than the margin, adjusted by Holm among the main effects, or among the interactions.
    pub p_adjusted: f64,
    /// What may be said.
    pub verdict: Verdict,
}

/// The factors of a study with their levels, each in the order in which the arms have them.
struct Factors {
    names: Vec<String>,
    levels: Vec<Vec<String>>,
}

impl Factors {
    fn of(arms: &[&Arm]) -> Self {
        let mut levels: BTreeMap<&String, Vec<String>> = BTreeMap::new();
        for (factor, level) in arms.iter().flat_map(|arm| &arm.levels) {
            let known = levels.entry(factor).or_default();
            if !known.contains(level) {
                known.push(level.clone());
            }
        }
        let (names, levels) = levels.into_iter().map(|(name, levels)| (name.clone(), levels)).unzip();
        Self { names, levels }
    }

    fn choice(&self, arm: &Arm) -> Option<Vec<usize>> {
        let at = |(name, levels): (&String, &Vec<String>)| {
            levels.iter().position(|l| Some(l) == arm.levels.get(name))
        };
        self.names.iter().zip(&self.levels).map(at).collect()
    }

    fn sizes(&self) -> Vec<usize> {
        self.levels.iter().map(Vec::len).collect()
    }

    fn level(&self, (factor, level): At) -> String {
        self.levels[factor][level].clone()
    }
}

/// One effect that the arms determine: which, and the weights of the arms.
struct Estimable {
    of: At,
    with: Option<At>,
    weights: Vec<f64>,
}

/// The effects of `arms`, whose gains by block are `gains`; none where there are fewer than two factors, more arms than a study tries, or
/// too few to determine all effects.
pub(super) fn of(comparison: &Comparison, arms: &[Arm], gains: &[Gains]) -> Vec<Effect> {
    let tried: Vec<(&Arm, &Gains)> = arms
        .iter()
        .zip(gains)
        .filter(|(arm, _)| arm.role == Role::Candidate && !arm.levels.is_empty())
        .collect();
    // The time to fit them grows by the cube of their number, and a case may come from anybody.
    if tried.len() > MOST_ARMS {
        return Vec::new();
    }
    let factors = Factors::of(&tried.iter().map(|(arm, _)| *arm).collect::<Vec<_>>());
    if factors.names.len() < 2 {
        return Vec::new();
    }
    let Some(choices) = tried.iter().map(|(arm, _)| factors.choice(arm)).collect::<Option<Vec<_>>>() else {
        return Vec::new();
    };
    let model = Model::new(&factors.sizes(), Terms::that_fit(&factors.sizes(), choices.len()));
    let Some(fitted) = model.fitted(&choices) else { return Vec::new() };
    let (main, interactions) = (main_effects(&fitted, &factors), interactions(&fitted, &factors));
    let by_block = |estimable: &Estimable| -> Vec<f64> {
        (0..comparison.blocks)
            .map(|block| {
                estimable.weights.iter().zip(&tried).map(|(weight, (_, gains))| weight * gains[block]).sum()
            })
            .collect()
    };
    [main, interactions]
        .into_iter()
        .flat_map(|family| {
            let rows: Vec<Vec<f64>> = family.iter().map(by_block).collect();
            let judged = comparison.judged(&rows.iter().map(Vec::as_slice).collect::<Vec<_>>());
            let effects =
                family.into_iter().zip(judged).filter_map(|(estimable, judged)| Some((estimable, judged?)));
            effects
                .map(|(estimable, judged)| effect(&factors, &estimable, judged, comparison.blocks))
                .collect::<Vec<_>>()
        })
        .collect()
}

fn effect(factors: &Factors, estimable: &Estimable, judged: Judged, blocks: usize) -> Effect {
    let first = |at: At| factors.level((at.0, 0));
    Effect {
        factor: factors.names[estimable.of.0].clone(),
        level: factors.level(estimable.of),
        against: first(estimable.of),
        with: estimable.with.map(|at| [factors.names[at.0].clone(), factors.level(at), first(at)]),
        blocks,
        ratio: judged.ratio,
        interval: judged.interval,
        p_adjusted: judged.p_adjusted,
        verdict: judged.verdict,
    }
}

/// Every level but the first of every factor.
fn others(factors: &Factors) -> impl Iterator<Item = At> {
    factors
        .sizes()
        .into_iter()
        .enumerate()
        .flat_map(|(factor, size)| (1..size).map(move |level| (factor, level)))
}

fn main_effects(fitted: &Fitted, factors: &Factors) -> Vec<Estimable> {
    let main_effect = |of: At| Estimable { of, with: None, weights: fitted.main_effect((of.0, 0), of) };
    others(factors).map(main_effect).collect()
}

fn interactions(fitted: &Fitted, factors: &Factors) -> Vec<Estimable> {
    let all: Vec<At> = others(factors).collect();
    let pairs = all.iter().flat_map(|a| all.iter().filter(move |b| b.0 > a.0).map(move |b| (*a, *b)));
    pairs
        .filter_map(|(of, with)| {
            Some(Estimable { of, with: Some(with), weights: fitted.interaction(of, with)? })
        })
        .collect()
}
