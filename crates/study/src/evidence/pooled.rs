//! Quantiles of latency over all requests of an arm together, beside the comparison of per-trial quantiles: pure.
//!
//! The signed-rank interval over blocks decides, here too. It shows what happens in a typical trial; what happens to the slowest of
//! all requests is shown by these, for which there is no exact interval.

use std::collections::{BTreeMap, BTreeSet};

use load::latency;
use machine::Missing;

use super::case_evidence::is_fresh;
use super::gains::complete_blocks;
use super::{Evidence, Pooled, PooledRatio};
use crate::arm::{Arm, Role};
use crate::case::Resolved;
use crate::recipe::{Direction, Recipe};
use crate::schedule::attempts;
use crate::statistics::bootstrap::Draws;
use crate::statistics::pooled::{self, Counts, Pool};
use crate::trial::Trial;

/// Samples of blocks for an interval.
const SAMPLES: usize = 2000;

/// How the intervals are made, for readers of the file.
const METHOD: &str =
    "quantile over all requests of an arm; ratio to that of the baseline; BCa bootstrap over whole blocks";

/// The latencies of trials by index: how often each was counted, us; or why they are not known.
pub type Latencies = BTreeMap<usize, Result<Counts, String>>;

/// The figures of a recipe that are quantiles of latency, with their quantile.
fn quantiles(recipe: &Recipe) -> Vec<(String, f64, Direction)> {
    let deciding = (recipe.metric.clone(), recipe.direction());
    let others = recipe.also.iter().map(|also| (also.metric.clone(), also.direction()));
    let all = std::iter::once(deciding).chain(others);
    all.filter_map(|(metric, better)| Some((latency::quantile_of(&metric)?, metric, better)))
        .map(|(quantile, metric, better)| (metric, quantile, better))
        .collect()
}

/// Indices of the trials whose latencies [`of`] looks at; none where no figure of the recipe is a quantile of latency.
pub fn needed(study: &Resolved, evidence: &Evidence, trials: &[Trial]) -> BTreeSet<usize> {
    if quantiles(&study.recipe).is_empty() {
        return BTreeSet::new();
    }
    let arms = weighed_arms(study, evidence);
    let is_pooled = |trial: &Trial| arms.iter().any(|arm| arm.name == trial.arm);
    weighed_trials(study, evidence, trials).into_iter().filter(is_pooled).map(|trial| trial.index).collect()
}

/// Candidates and both baselines that the evidence is about.
fn weighed_arms<'a>(study: &'a Resolved, evidence: &Evidence) -> Vec<&'a Arm> {
    let is_pooled = |arm: &&Arm| matches!(arm.role, Role::Baseline | Role::Candidate);
    study.arms.iter().filter(is_pooled).filter(|arm| evidence.arm(&arm.name).is_some()).collect()
}

/// The trials that `evidence` of a case is of.
fn weighed_trials(study: &Resolved, evidence: &Evidence, trials: &[Trial]) -> Vec<Trial> {
    let ended = evidence.looks.last().filter(|look| look.ended).map(|look| look.blocks);
    let is_weighed = |block: usize| match study.recipe.search {
        Some(_) => is_fresh(study, block),
        None => ended.is_none_or(|blocks| block < blocks),
    };
    attempts::counted(trials.iter().filter(|trial| is_weighed(trial.block)))
}

/// The quantiles of a recipe over all requests, of the blocks that `evidence` is of and at its level.
pub fn of(study: &Resolved, evidence: &Evidence, trials: &[Trial], latencies: &Latencies) -> Vec<Pooled> {
    let arms = weighed_arms(study, evidence);
    let weighed = weighed_trials(study, evidence, trials);
    quantiles(&study.recipe)
        .into_iter()
        .map(|(metric, quantile, better)| {
            let seen = Seen { evidence, arms: &arms, trials: &weighed, latencies };
            let draws = Draws {
                level: 1.0 - evidence.precision.alpha,
                samples: SAMPLES,
                seed: study.recipe.seed.unwrap_or_default(),
            };
            seen.pooled(metric, quantile, better, draws)
        })
        .collect()
}

/// What one figure is computed from.
struct Seen<'a> {
    evidence: &'a Evidence,
    arms: &'a [&'a Arm],
    trials: &'a [Trial],
    latencies: &'a Latencies,
}

impl Seen<'_> {
    fn pooled(&self, metric: String, quantile: f64, better: Direction, draws: Draws) -> Pooled {
        let mut missing = Vec::new();
        // The blocks of the comparison beside it: the mis-tuning is one of their arms.
        let names: Vec<&str> = self.evidence.arms.iter().map(|arm| arm.arm.as_str()).collect();
        let mut blocks = complete_blocks(&names, self.trials, &metric);
        blocks.retain(|block| self.has_all(*block, &mut missing));
        let of_role =
            |role: Role| self.arms.iter().filter(move |arm| arm.role == role).map(|arm| arm.name.as_str());
        let baselines: Vec<&str> = of_role(Role::Baseline).collect();
        let baseline = self.pool(&blocks, &baselines);
        let reference = self.evidence.baseline().to_string();
        let all: Vec<usize> = (0..blocks.len()).collect();
        let mut against_baseline = Vec::new();
        for arm in of_role(Role::Candidate) {
            let own = self.pool(&blocks, &[arm]);
            let ratio = pooled::ratio(&own, &baseline, quantile);
            if !ratio.is_finite() {
                missing.push(Missing::new(arm, "no block has the latencies of it and of the baseline"));
                continue;
            }
            let found = pooled::ratio_with_interval(&own, &baseline, quantile, draws);
            if found.is_none() {
                let why = pooled::why_not(&own, &baseline, quantile);
                let why = why.unwrap_or_else(|| "too many samples of blocks have no ratio".into());
                missing.push(Missing::new(format_args!("interval of {arm}"), why));
            }
            against_baseline.push(PooledRatio {
                arm: arm.to_string(),
                reference: reference.clone(),
                requests: own.count(),
                arm_us: own.quantile(quantile, &all),
                reference_us: baseline.quantile(quantile, &all),
                ratio,
                interval: found.map(|found| (found.low, found.high)),
            });
        }
        let Draws { level, samples, seed } = draws;
        let (method, blocks) = (METHOD.to_string(), blocks.len());
        Pooled { metric, quantile, better, method, level, samples, seed, blocks, against_baseline, missing }
    }

    /// Whether the latencies of all trials of a block are known; the first that is not is noted.
    fn has_all(&self, block: usize, missing: &mut Vec<Missing>) -> bool {
        let of_arm = |trial: &&Trial| self.arms.iter().any(|arm| arm.name == trial.arm);
        let own = self.trials.iter().filter(|trial| trial.block == block).filter(of_arm);
        let lost = own.filter_map(|trial| match self.latencies.get(&trial.index) {
            Some(Ok(_)) => None,
            Some(Err(why)) => Some((trial.index, why.clone())),
            None => Some((trial.index, "its latencies were not read".to_string())),
        });
        match lost.into_iter().next() {
            None => true,
            Some((index, why)) => {
                missing.push(Missing::new(
                    format_args!("block {}, trials/{index:04}", block.saturating_add(1)),
                    why,
                ));
                false
            }
        }
    }

    fn pool(&self, blocks: &BTreeSet<usize>, arms: &[&str]) -> Pool {
        let of_block = |block: &usize| -> Vec<&Counts> {
            let own = self
                .trials
                .iter()
                .filter(|trial| trial.block == *block && arms.contains(&trial.arm.as_str()));
            own.filter_map(|trial| self.latencies.get(&trial.index)?.as_ref().ok()).collect()
        };
        Pool::new(&blocks.iter().map(of_block).collect::<Vec<_>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::evidence::of_case;

    const BLOCKS: usize = 8;

    /// A study of CPU 0 and 1 by a quantile, whose trials have the latencies that `counts` gives by block and arm.
    fn study(metric: &str, counts: impl Fn(usize, &str) -> Counts) -> (Resolved, Vec<Trial>, Latencies) {
        let mut study = crate::case::tests::resolved();
        study.recipe.metric = metric.into();
        study.recipe.better = Some(Direction::Lower);
        study.order = crate::design::draw_order(study.arms.len(), BLOCKS, 1);
        let (mut trials, mut latencies) = (Vec::new(), Latencies::new());
        for (block, order) in study.order.iter().enumerate() {
            for (position, arm) in order.iter().enumerate() {
                let name = &study.arms[*arm].name;
                let index = trials.len();
                let counts = counts(block, name);
                let figures = [(metric.to_string(), 100.0 + position as f64)].into();
                latencies.insert(index, Ok(counts));
                trials.push(Trial { index, block, position, arm: name.clone(), figures, ..Trial::default() });
            }
        }
        (study, trials, latencies)
    }

    fn pooled(study: &Resolved, trials: &[Trial], latencies: &Latencies) -> Vec<Pooled> {
        of(study, &of_case(study, trials), trials, latencies)
    }

    #[test]
    fn every_candidate_is_compared_with_both_baselines_together() {
        let counts = |_: usize, arm: &str| match arm {
            "cpu 0" => vec![(300, 100)],
            "unpinned A" => vec![(50, 100)],
            "unpinned B" => vec![(150, 100)],
            _ => vec![(100, 100)],
        };
        let (study, trials, latencies) = study("latency_p90_us", counts);
        let found = pooled(&study, &trials, &latencies);
        let [found] = found.as_slice() else { panic!("{found:?}") };
        assert_eq!((found.quantile, found.blocks, found.samples), (0.9, BLOCKS, SAMPLES));
        let ratios: Vec<_> =
            found.against_baseline.iter().map(|r| (r.arm.as_str(), r.ratio, r.interval)).collect();
        assert_eq!(
            ratios,
            [
                ("cpu 0", 2.0, Some((2.0, 2.0))),
                ("cpu 1", 100.0 / 150.0, Some((100.0 / 150.0, 100.0 / 150.0)))
            ]
        );
        assert_eq!(
            (found.against_baseline[0].requests, found.against_baseline[0].reference_us),
            (800, 150.0)
        );
        assert!(found.missing.is_empty(), "{found:?}");
    }

    #[test]
    fn other_figures_have_none_and_ask_for_no_file() {
        let (study, trials, latencies) = study("requests_per_s", |_, _| vec![(1, 1)]);
        assert!(pooled(&study, &trials, &latencies).is_empty());
        assert!(needed(&study, &of_case(&study, &trials), &trials).is_empty());
    }

    #[test]
    fn a_block_whose_latencies_are_not_known_is_left_out_and_named() {
        let (study, trials, mut latencies) = study("latency_p50_us", |_, _| vec![(7, 10)]);
        let evidence = of_case(&study, &trials);
        let asked = needed(&study, &evidence, &trials);
        assert_eq!(asked.len(), BLOCKS * 4, "not those of the mis-tuning");
        let index = *asked.iter().next().unwrap();
        latencies.insert(index, Err("outcome.json is not there".into()));
        let found = of(&study, &evidence, &trials, &latencies).remove(0);
        assert_eq!((found.blocks, found.against_baseline[0].interval), (BLOCKS - 1, None));
        let why: Vec<String> = found.missing.iter().map(|m| format!("{}: {}", m.fact, m.why)).collect();
        assert!(why[0].contains(&format!("trials/{index:04}: outcome.json")), "{why:?}");
        assert!(
            why[1].contains("interval of cpu") && why[1].contains("7 blocks; an interval takes 8"),
            "{why:?}"
        );
    }
}
