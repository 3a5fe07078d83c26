//! Which CPUs of a large machine get full blocks: those that look slow in short trials of every CPU, and a few that stand for the CPUs
//! that are alike. Pure; [`crate::engine::screening`] runs the trials.
//!
//! Screening only chooses. Its trials are in no comparison, so that what was looked at while choosing flatters nobody: the blocks decide.
//! Every CPU is screened, because a slow CPU need not differ from its neighbours in anything that a map shows.

use std::collections::BTreeMap;

use machine::{CpuSet, Machine};
use serde::{Deserialize, Serialize};

use crate::arm::Arm;
use crate::recipe::factor::EachCpu;
use crate::recipe::{Direction, Factor, Recipe};
use crate::statistics::summary;
use crate::trial::Trial;

/// Most CPUs that are taken for looking slow.
const MOST_SLOW: usize = 8;

/// Most CPUs that stand for others.
const MOST_SAMPLES: usize = 8;

/// A CPU looks slow when it is this many median absolute deviations below the median of all, and by more than the margin.
const DEVIATIONS: f64 = 4.0;

/// What was chosen; kept in the case as `screening.json`.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Screening {
    /// The deciding figure of each CPU that was screened: the better of its trials.
    pub figures: BTreeMap<u32, f64>,
    /// CPUs that looked slow, worst first. The full blocks say whether they are.
    pub slow: Vec<u32>,
    /// CPUs that stand for others that are alike.
    pub samples: Vec<Sample>,
    /// CPUs without a figure: their trials failed.
    pub failed: CpuSet,
}

/// A CPU and those that it stands for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Sample {
    /// The CPU that is studied.
    pub cpu: u32,
    /// All that are alike, itself included: the same node, last-level cache, kind of core, place among siblings, and isolation.
    pub stands_for: CpuSet,
}

impl Screening {
    /// CPUs that get full blocks.
    pub fn chosen(&self) -> CpuSet {
        self.slow.iter().copied().chain(self.samples.iter().map(|sample| sample.cpu)).collect()
    }

    /// The recipe whose blocks are spent on the chosen CPUs.
    pub fn narrowed(&self, recipe: Recipe) -> Recipe {
        Recipe { factors: vec![Factor::EachCpu(EachCpu { cpus: Some(self.chosen().into()) })], ..recipe }
    }
}

/// The arms that are screened: one a CPU, where the recipe tries every CPU and there are more than it says.
pub fn arms(recipe: &Recipe, arms: &[Arm]) -> Option<Vec<Arm>> {
    let tries_every_cpu = matches!(recipe.factors[..], [] | [Factor::EachCpu(EachCpu { cpus: None })]);
    if !tries_every_cpu || recipe.search.is_some() {
        return None;
    }
    let of_cpus: Vec<Arm> = arms.iter().filter(|arm| arm.cpu.is_some()).cloned().collect();
    (of_cpus.len() > recipe.screen_above).then_some(of_cpus)
}

/// Gains of each CPU: of several trials the best. Other load and a slow run make a trial slower, hardly ever faster.
fn best_gains(arms: &[Arm], trials: &[Trial], metric: &str, better: Direction) -> BTreeMap<u32, f64> {
    let mut gains: BTreeMap<u32, f64> = BTreeMap::new();
    for trial in trials.iter().filter(|trial| trial.failed.is_none()) {
        let cpu = arms.iter().find(|arm| arm.name == trial.arm).and_then(|arm| arm.cpu);
        let figure = trial.figures.get(metric).copied().filter(|figure| *figure > 0.0);
        // Who answers nothing is as slow as can be.
        let gain = figure.map(|figure| better.gain(figure)).or(trial.starved.then_some(f64::NEG_INFINITY));
        if let Some((cpu, gain)) = cpu.zip(gain) {
            gains.entry(cpu).and_modify(|best| *best = best.max(gain)).or_insert(gain);
        }
    }
    gains
}

/// CPUs that look slow by these trials, worst first.
pub fn suspects(recipe: &Recipe, arms: &[Arm], trials: &[Trial]) -> Vec<u32> {
    slow(&best_gains(arms, trials, &recipe.metric, recipe.direction()), recipe.precision.margin)
}

fn slow(gains: &BTreeMap<u32, f64>, margin: f64) -> Vec<u32> {
    let all: Vec<f64> = gains.values().copied().collect();
    let Some(median) = summary::median(&all) else { return Vec::new() };
    let deviations: Vec<f64> = all.iter().map(|gain| (gain - median).abs()).collect();
    let spread = summary::median(&deviations).unwrap_or(0.0);
    let least = (1.0 + margin).ln().max(DEVIATIONS * spread);
    let mut slow: Vec<(u32, f64)> =
        gains.iter().map(|(cpu, gain)| (*cpu, *gain)).filter(|(_, gain)| median - gain > least).collect();
    slow.sort_by(|a, b| a.1.total_cmp(&b.1));
    slow.truncate(MOST_SLOW);
    slow.into_iter().map(|(cpu, _)| cpu).collect()
}

/// Chooses by the trials of a screening.
pub fn choose(recipe: &Recipe, machine: &Machine, arms: &[Arm], trials: &[Trial]) -> Screening {
    let better = recipe.direction();
    let gains = best_gains(arms, trials, &recipe.metric, better);
    let slow = slow(&gains, recipe.precision.margin);
    let screened: CpuSet = arms.iter().filter_map(|arm| arm.cpu).collect();
    let failed = screened.iter().filter(|cpu| !gains.contains_key(cpu)).collect::<CpuSet>();
    let rest = screened.difference(&slow.iter().copied().collect()).difference(&failed);
    let figures =
        gains.into_iter().filter(|(_, gain)| gain.is_finite()).map(|(cpu, gain)| (cpu, better.ratio(gain)));
    Screening { figures: figures.collect(), slow, samples: samples(&rest, machine), failed }
}

/// One CPU of each kind, of the largest kinds first where there are more than may be; a second of each where there is room for all.
fn samples(cpus: &CpuSet, machine: &Machine) -> Vec<Sample> {
    let mut kinds: Vec<CpuSet> = kinds(cpus, machine);
    kinds.sort_by_key(|kind| std::cmp::Reverse(kind.len()));
    kinds.truncate(MOST_SAMPLES);
    let each = if kinds.len() * 2 <= MOST_SAMPLES { 2 } else { 1 };
    let of_kind = |kind: &CpuSet| -> Vec<Sample> {
        // Apart from each other, so that one peculiar core does not stand for all.
        let all: Vec<u32> = kind.iter().collect();
        let chosen: CpuSet = (0..each).filter_map(|nth| all.get(nth * all.len() / each).copied()).collect();
        chosen.iter().map(|cpu| Sample { cpu, stands_for: kind.clone() }).collect()
    };
    let mut samples: Vec<Sample> = kinds.iter().flat_map(of_kind).collect();
    samples.sort_by_key(|sample| sample.cpu);
    samples
}

/// CPUs that are alike as far as the map shows.
fn kinds(cpus: &CpuSet, machine: &Machine) -> Vec<CpuSet> {
    let mut kinds: BTreeMap<_, CpuSet> = BTreeMap::new();
    let isolated = machine.isolated();
    for id in cpus.iter() {
        let cpu = machine.cpus.iter().find(|cpu| cpu.id == id);
        let cache = machine.last_level_cache(id).map(|cache| cache.cpus.clone());
        let is_first = cpu.and_then(|cpu| cpu.siblings.as_ref()).is_none_or(|of| of.first() == Some(id));
        let within = |set: &Option<CpuSet>| set.as_ref().is_some_and(|set| set.contains(id));
        let kind = (
            cpu.and_then(|cpu| cpu.node),
            cache,
            cpu.and_then(|cpu| cpu.capacity),
            cpu.and_then(|cpu| cpu.max_frequency_khz),
            is_first,
            (within(&isolated), within(&machine.kernel.nohz_full)),
        );
        kinds.entry(kind).or_default().insert(id);
    }
    kinds.into_values().collect()
}

#[cfg(test)]
mod tests {
    use machine::topology::cpus::Cpu;

    use super::*;
    use crate::arm::of_recipe;
    use crate::arm::tests::alike;
    use crate::statistics::draws::Draws;

    fn recipe() -> Recipe {
        Recipe::default()
    }

    /// `nodes` nodes of `each` CPUs.
    fn machine(nodes: u32, each: u32) -> Machine {
        let cpu = |id| Cpu { id, online: true, node: Some(id / each), ..Cpu::default() };
        Machine { cpus: (0..nodes * each).map(cpu).collect(), ..Machine::default() }
    }

    /// Two rounds of trials with noise of 2 %, a slow run in twelve, and what these CPUs really lose.
    fn trials(arms: &[Arm], seed: u64, loss: impl Fn(u32) -> f64) -> Vec<Trial> {
        let mut draws = Draws::new(seed);
        let mut trial = |arm: &Arm, block: usize| {
            let slow_run = if draws.uniform() < 0.08 { 0.8 } else { 1.0 };
            let figure = 1e4 * (0.02 * draws.normal()).exp() * slow_run * (1.0 - loss(arm.cpu.unwrap()));
            let figures = BTreeMap::from([("requests_per_s".to_string(), figure)]);
            Trial { arm: arm.name.clone(), block, figures, ..Trial::default() }
        };
        (0..2).flat_map(|block| arms.iter().map(|arm| trial(arm, block)).collect::<Vec<_>>()).collect()
    }

    #[test]
    fn small_machines_and_lists_of_the_user_are_not_screened() {
        let of = |recipe: &Recipe, machine: &Machine| arms(recipe, &of_recipe(recipe, machine).unwrap());
        assert_eq!(of(&recipe(), &alike(2)), None);
        assert_eq!(of(&recipe(), &alike(64)).map(|arms| arms.len()), Some(64));
        let list = Factor::EachCpu(EachCpu { cpus: Some((0..40).collect::<CpuSet>().into()) });
        assert_eq!(of(&Recipe { factors: vec![list], ..recipe() }, &alike(64)), None);
        assert_eq!(of(&Recipe { screen_above: 64, ..recipe() }, &alike(64)), None);
    }

    #[test]
    fn a_cpu_that_is_slow_without_any_mark_on_the_map_is_always_chosen() {
        let machine = machine(4, 16);
        let all = arms(&recipe(), &of_recipe(&recipe(), &machine).unwrap()).unwrap();
        let mut mistaken = 0;
        for seed in 0..100 {
            let trials = trials(&all, seed, |cpu| if cpu == 37 { 0.2 } else { 0.0 });
            let chosen = choose(&recipe(), &machine, &all, &trials);
            assert!(chosen.slow.contains(&37), "{chosen:?}");
            assert_eq!(chosen.figures.len(), 64);
            mistaken += chosen.slow.len() - 1;
        }
        // They cost blocks, and are no claim.
        assert!(mistaken <= 100, "{mistaken} CPUs that are not slow were taken for it in 100 screenings");
    }

    #[test]
    fn the_samples_stand_for_every_cpu_that_does_not_look_slow() {
        let machine = machine(4, 16);
        let all = arms(&recipe(), &of_recipe(&recipe(), &machine).unwrap()).unwrap();
        let chosen =
            choose(&recipe(), &machine, &all, &trials(&all, 1, |cpu| if cpu == 37 { 0.2 } else { 0.0 }));
        let stood_for =
            chosen.samples.iter().fold(CpuSet::new(), |all, sample| all.union(&sample.stands_for));
        let slow: CpuSet = chosen.slow.iter().copied().collect();
        assert_eq!(stood_for, (0..64).collect::<CpuSet>().difference(&slow));
        assert_eq!(chosen.samples.len(), 8, "two of each node");
        let narrowed = chosen.narrowed(recipe());
        assert!(
            matches!(&narrowed.factors[..], [Factor::EachCpu(EachCpu { cpus: Some(cpus) })] if cpus.numbers() == Some(chosen.chosen()))
        );
    }

    #[test]
    fn a_cpu_that_starves_looks_slow_and_one_that_fails_is_named() {
        let machine = machine(1, 20);
        let all = arms(&recipe(), &of_recipe(&recipe(), &machine).unwrap()).unwrap();
        let mut trials = trials(&all, 1, |_| 0.0);
        for trial in &mut trials {
            let cpu = all.iter().find(|arm| arm.name == trial.arm).and_then(|arm| arm.cpu);
            match cpu {
                Some(3) => (trial.starved, trial.figures) = (true, BTreeMap::new()),
                Some(4) => trial.failed = Some("the load ended".into()),
                _ => {}
            }
        }
        let chosen = choose(&recipe(), &machine, &all, &trials);
        assert_eq!((chosen.slow.first(), chosen.failed.to_list()), (Some(&3), "4".into()));
        assert!(!chosen.figures.contains_key(&3) && !chosen.chosen().contains(4));
    }
}
