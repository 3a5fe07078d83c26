//! Evidence: effects with intervals, from the trials alone. Pure; can be computed again from `trials.jsonl` on any laptop.
//!
//! Every comparison is made *within* blocks: log ratios of an arm to its reference in the same block. Two families of
//! claims are adjusted by Holm, each for itself: every arm against the baseline (is this placement better than what
//! you have?), and every CPU against the other CPUs (is this CPU a bad one?). The second is what names a slow CPU: on
//! an uneven machine the unpinned baseline is itself a mixture of good and bad CPUs.

mod also;
mod cliffs;
mod effects;
mod growth;
mod notes;
mod pooled;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub use self::also::AlsoCompared;
pub use self::cliffs::{ArmCliff, PartTimes, Spot, Typical};
pub use self::effects::Effect;
pub use self::growth::Growth;
pub use self::pooled::{Latencies, Pooled, PooledRatio, needed as needed_latencies, of as pooled};
use crate::arm::{Arm, Role};
use crate::case::Resolved;
use crate::case::asked::Found;
use crate::looks::{self, Look};
use crate::recipe::{Direction, Precision};
use crate::schedule;
use crate::search::Stage;
use crate::statistics::holm;
use crate::statistics::signed_rank::{self, p_above, p_below};
use crate::statistics::summary::{self, Summary};
use crate::trial::Trial;

/// What may be said of one arm against its reference.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Better by more than the margin.
    Better,
    /// Worse by more than the margin.
    Worse,
    /// No difference larger than the margin.
    Equal,
    /// The trials do not tell.
    Undecided,
    /// The mis-tuning was not seen, so no claim is made.
    Insensitive,
    /// The baseline differed from itself, so no claim is made.
    Untrustworthy,
}

impl Verdict {
    /// The word as tables print it.
    pub fn word(self, margin: f64) -> String {
        match self {
            Verdict::Better => "better".into(),
            Verdict::Worse => "worse".into(),
            Verdict::Equal => format!("equal within {} %", (margin * 1e4).round() / 100.0),
            Verdict::Undecided => "undecided".into(),
            Verdict::Insensitive => "insensitive".into(),
            Verdict::Untrustworthy => "untrustworthy".into(),
        }
    }
}

/// One comparison within blocks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Contrast {
    /// The arm.
    pub arm: String,
    /// The CPU that it tries, if it tries one.
    pub cpu: Option<u32>,
    /// What it is compared with, in words.
    pub reference: String,
    /// Blocks that it rests on.
    pub blocks: usize,
    /// Ratio of the figure to the reference: Hodges-Lehmann over within-block log ratios. 0.7 means 30 % less.
    pub ratio: f64,
    /// Exact signed-rank interval of the ratio at `1 - alpha`, not adjusted; `None` with too few blocks for one.
    pub interval: Option<(f64, f64)>,
    /// Two-sided p that the difference is no larger than the margin, adjusted by Holm within its family.
    pub p_adjusted: f64,
    /// What may be said.
    pub verdict: Verdict,
}

/// Descriptive figures of one arm.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ArmSummary {
    /// The arm.
    pub arm: String,
    /// Its role.
    pub role: Role,
    /// The CPU that it tries, if it tries one.
    pub cpu: Option<u32>,
    /// The deciding figure over its trials.
    pub figure: Summary,
    /// The deciding figure, block by block.
    pub by_block: Vec<f64>,
    /// CPUs that the server really used, mean share over the trials.
    pub cpus_used: BTreeMap<u32, f64>,
    /// Other figures, median over the trials.
    pub others: BTreeMap<String, f64>,
}

/// Whether claims may be made at all.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Trust {
    /// Both controls came out as they should.
    Sound,
    /// The mis-tuning was not seen.
    Insensitive {
        /// In words.
        why: String,
    },
    /// The baseline differed from itself.
    Untrustworthy {
        /// In words.
        why: String,
    },
    /// Too few complete blocks for any claim.
    TooFew {
        /// In words.
        why: String,
    },
}

/// Everything that the trials of a study say about its deciding figure.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Evidence {
    /// The deciding figure.
    pub metric: String,
    /// Its unit, where known.
    pub unit: String,
    /// Which way is better.
    pub better: Direction,
    /// Margin and level of the claims.
    pub precision: Precision,
    /// Blocks in which every arm has a value; the others are left out.
    pub blocks: usize,
    /// Blocks that were begun and are not complete.
    pub incomplete_blocks: usize,
    /// Whether claims may be made.
    pub trust: Trust,
    /// Baseline against itself.
    pub a_a: Option<Contrast>,
    /// The mis-tuning against the arm with the server on the same CPU, or the baseline where there is none.
    pub control: Option<Contrast>,
    /// Every other arm against the baseline (mean of both runs in the block).
    pub against_baseline: Vec<Contrast>,
    /// Every CPU against the median of the other CPUs in the block.
    pub against_other_cpus: Vec<Contrast>,
    /// Effects of the levels of several factors, and their interactions.
    #[serde(default)]
    pub effects: Vec<Effect>,
    /// Figures that decide nothing, against the baseline.
    #[serde(default)]
    pub also: Vec<AlsoCompared>,
    /// Quantiles of latency over all requests together, of figures that are such; they decide nothing. From the files of the trials.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pooled: Vec<Pooled>,
    /// How the figure grows with the server's CPUs, one curve an order of filling.
    #[serde(default)]
    pub growth: Vec<Growth>,
    /// Where the sequences of arms break, of loads that are sequences.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub cliffs: Vec<ArmCliff>,
    /// Arms that were given up because every attempt failed, and the last cause.
    #[serde(default)]
    pub given_up: BTreeMap<String, String>,
    /// What was found at each look that was fixed before; one at the end, if there was no other.
    #[serde(default)]
    pub looks: Vec<Look>,
    /// What a search found, and what it did not try; its claims are those of the fresh blocks alone, `against_baseline`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<Found>,
    /// Descriptive figures by arm.
    pub arms: Vec<ArmSummary>,
    /// What the reader should know.
    pub notes: Vec<String>,
}

impl Evidence {
    /// CPUs that are slower than the other CPUs, worst first.
    pub fn slow_cpus(&self) -> Vec<&Contrast> {
        let mut slow: Vec<&Contrast> =
            self.against_other_cpus.iter().filter(|c| c.verdict == Verdict::Worse).collect();
        slow.sort_by(|a, b| self.better.gain(a.ratio).total_cmp(&self.better.gain(b.ratio)));
        slow
    }

    /// What tables call the baseline: `unpinned`, or the name that the recipe gives it.
    pub fn baseline(&self) -> &str {
        let first = self.arms.iter().find(|arm| arm.role == Role::Baseline);
        first.map_or("baseline", |arm| arm.arm.strip_suffix(" A").unwrap_or(&arm.arm))
    }

    /// The summary of an arm by name.
    pub fn arm(&self, name: &str) -> Option<&ArmSummary> {
        self.arms.iter().find(|a| a.arm == name)
    }
}

/// Log figures of one arm by block, signed so that more is better.
pub(crate) type Gains = Vec<f64>;

/// Computes the evidence of `trials` about `metric`.
pub fn weigh(
    arms: &[Arm],
    trials: &[Trial],
    metric: &str,
    better: Direction,
    precision: Precision,
) -> Evidence {
    let (gains, blocks) = gains_by_arm(arms, trials, metric, better);
    let as_found = baseline_name(arms);
    let incomplete_blocks = trials.iter().map(|t| t.block).collect::<BTreeSet<_>>().len() - blocks;
    let comparison = Comparison { better, precision, blocks };
    let of_role = |role: Role| arms.iter().zip(&gains).filter(move |(arm, _)| arm.role == role);

    let baselines: Vec<&Gains> = of_role(Role::Baseline).map(|(_, g)| g).collect();
    let baseline = mean_by_block(&baselines, blocks);
    let a_a = match (arms.iter().find(|a| a.role == Role::Baseline), baselines.as_slice()) {
        (Some(arm), [first, second, ..]) => {
            comparison.family(vec![(arm, differences(first, second), "the same again".into())]).pop()
        }
        _ => None,
    };
    let control =
        mis_tuning(arms, &gains, &baseline, &as_found).and_then(|row| comparison.family(vec![row]).pop());
    let against_baseline = match baselines.is_empty() {
        true => Vec::new(),
        false => comparison.family(
            arms.iter()
                .zip(&gains)
                .filter(|(arm, _)| matches!(arm.role, Role::Candidate | Role::Intervention))
                .map(|(arm, g)| (arm, differences(g, &baseline), as_found.clone()))
                .collect(),
        ),
    };
    let cpus: Vec<(&Arm, &Gains)> = of_role(Role::Candidate).filter(|(arm, _)| arm.cpu.is_some()).collect();
    let against_other_cpus = comparison.family(against_others(&cpus, blocks));

    let trust = trust(&comparison, a_a.as_ref(), control.as_ref());
    let mut evidence = Evidence {
        metric: metric.to_string(),
        unit: trials.iter().find_map(|t| t.units.get(metric).cloned()).unwrap_or_default(),
        better,
        precision,
        blocks,
        incomplete_blocks,
        trust,
        a_a,
        control,
        against_baseline,
        against_other_cpus,
        effects: effects::of(&comparison, arms, &gains),
        also: Vec::new(),
        pooled: Vec::new(),
        growth: Vec::new(),
        cliffs: cliffs::of(arms, trials),
        given_up: BTreeMap::new(),
        looks: Vec::new(),
        search: None,
        arms: arms.iter().filter_map(|arm| summarise_arm(arm, trials, metric)).collect(),
        notes: Vec::new(),
    };
    withhold_untrusted_claims(&mut evidence);
    evidence.notes = notes::of(&evidence, trials);
    evidence
}

/// The evidence of a case as far as it has been run: at the last look that was made, or of all trials before the first.
pub fn of_case(study: &Resolved, trials: &[Trial]) -> Evidence {
    if study.recipe.search.is_some() {
        return of_search(study, trials);
    }
    let looks = looks::made(study, trials, |blocks, precision| of_blocks(study, trials, blocks, precision));
    let (blocks, alpha) = match looks.last() {
        Some(look) if look.ended => (look.blocks, look.alpha),
        _ => {
            let levels = looks::precisions(study.recipe.precision, &looks::planned(study));
            (study.planned_blocks(), levels[0].alpha)
        }
    };
    let precision = Precision { alpha, ..study.recipe.precision };
    let mut evidence = of_blocks(study, trials, blocks, precision);
    evidence.also = also::of(study, &evidence, trials, blocks);
    let (recipe, counted) = (&study.recipe, schedule::counted(trials));
    let within: Vec<Trial> = counted.into_iter().filter(|trial| trial.block < blocks).collect();
    let seed = recipe.seed.unwrap_or_default();
    evidence.growth =
        growth::of(&study.arms, &within, &recipe.metric, recipe.better, evidence.precision, seed);
    evidence.looks = looks;
    evidence.notes.extend(notes::of_added(study, trials));
    evidence
}

/// Whether a block is one in which the winner of a search is confirmed.
fn is_fresh(study: &Resolved, block: usize) -> bool {
    study.stages.get(block) == Some(&Stage::Confirm)
}

/// The evidence of a search: of its fresh blocks alone, since what was looked at while choosing flatters the chosen.
fn of_search(study: &Resolved, trials: &[Trial]) -> Evidence {
    let is_fresh = |block: usize| is_fresh(study, block);
    let fresh: Vec<Trial> = trials.iter().filter(|trial| is_fresh(trial.block)).cloned().collect();
    let orders = study.order.iter().enumerate().filter(|(block, _)| is_fresh(*block));
    let confirmed: BTreeSet<usize> = orders.flat_map(|(_, order)| order.iter().copied()).collect();
    let is_in = |at: usize, arm: &Arm| arm.role != Role::Candidate || confirmed.contains(&at);
    let arms = study.arms.iter().enumerate().filter(|(at, arm)| is_in(*at, arm)).map(|(_, arm)| arm.clone());
    let precision = study.recipe.precision;
    let mut evidence = of_arms(study, arms.collect(), &fresh, precision);
    evidence.also = also::of(study, &evidence, &fresh, study.order.len());
    evidence.search = study.found.clone();
    evidence
}

/// The evidence of the first `blocks` blocks at `precision`, about the figure that decides.
pub fn of_blocks(study: &Resolved, trials: &[Trial], blocks: usize, precision: Precision) -> Evidence {
    let within: Vec<Trial> = trials.iter().filter(|trial| trial.block < blocks).cloned().collect();
    of_arms(study, study.arms.clone(), &within, precision)
}

/// The evidence of `trials` about those of `arms` that were not given up.
fn of_arms(study: &Resolved, arms: Vec<Arm>, trials: &[Trial], precision: Precision) -> Evidence {
    let given_up = schedule::given_up(study, trials);
    let names: BTreeSet<&str> =
        given_up.keys().filter_map(|at| study.arms.get(*at)).map(|arm| arm.name.as_str()).collect();
    let arms: Vec<Arm> = arms.into_iter().filter(|arm| !names.contains(arm.name.as_str())).collect();
    let recipe = &study.recipe;
    let mut evidence = weigh(&arms, &schedule::counted(trials), &recipe.metric, recipe.better, precision);
    let last_cause = |arm: &str| trials.iter().rev().find(|trial| trial.arm == arm)?.failed.clone();
    evidence.given_up =
        names.iter().map(|name| (name.to_string(), last_cause(name).unwrap_or_default())).collect();
    evidence.notes.extend(notes::of_attempts(&evidence.given_up, trials));
    evidence.notes.extend(notes::of_boots(&evidence, study, trials));
    evidence
}

/// What tables call the baseline: the name of its two arms without what tells them apart.
pub fn baseline_name(arms: &[Arm]) -> String {
    let first = arms.iter().find(|arm| arm.role == Role::Baseline);
    first.map_or("baseline", |arm| arm.name.strip_suffix(" A").unwrap_or(&arm.name)).to_string()
}

/// Blocks in which each of these arms has trials, all of them with a figure that a ratio can be taken of: 0 has none to anything.
fn complete_blocks(arms: &[&str], trials: &[Trial], metric: &str) -> BTreeSet<usize> {
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

fn mean_by_block(arms: &[&Gains], blocks: usize) -> Gains {
    (0..blocks).map(|b| arms.iter().map(|g| g[b]).sum::<f64>() / arms.len().max(1) as f64).collect()
}

fn differences(a: &Gains, b: &Gains) -> Vec<f64> {
    a.iter().zip(b).map(|(a, b)| a - b).collect()
}

/// The mis-tuning against the arm that differs from it by nothing but where the load runs: the server on the same CPU.
/// Against the unpinned baseline it need not be worse at all: where one CPU carries the interrupts of every placement,
/// crowding server and load on another is not the worst that can be done. Without such an arm the baseline has to do.
fn mis_tuning<'a>(
    arms: &'a [Arm],
    gains: &[Gains],
    baseline: &Gains,
    as_found: &str,
) -> Option<(&'a Arm, Vec<f64>, String)> {
    let at = arms.iter().position(|a| a.role == Role::MisTuning)?;
    let alike = arms.iter().position(|a| {
        a.role == Role::Candidate
            && a.cpu.is_some()
            && a.placement.server_cpus == arms[at].placement.server_cpus
    });
    let (reference, words) = match alike {
        Some(alike) => (&gains[alike], arms[alike].name.clone()),
        None => (baseline, as_found.to_string()),
    };
    Some((&arms[at], differences(&gains[at], reference), words))
}

/// Each CPU's differences to the median of the other CPUs of its block.
fn against_others<'a>(cpus: &[(&'a Arm, &Gains)], blocks: usize) -> Vec<(&'a Arm, Vec<f64>, String)> {
    if cpus.len() < 2 {
        return Vec::new();
    }
    cpus.iter()
        .enumerate()
        .map(|(i, (arm, own))| {
            let differences = (0..blocks)
                .filter_map(|b| {
                    let others: Vec<f64> =
                        cpus.iter().enumerate().filter(|(j, _)| *j != i).map(|(_, (_, g))| g[b]).collect();
                    summary::median(&others).map(|m| own[b] - m)
                })
                .collect();
            (*arm, differences, "the other CPUs".to_string())
        })
        .collect()
}

/// What all comparisons of one study share.
pub(crate) struct Comparison {
    pub(crate) better: Direction,
    pub(crate) precision: Precision,
    pub(crate) blocks: usize,
}

impl Comparison {
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
                Some(Contrast { arm, cpu, reference, blocks, ratio, interval, p_adjusted, verdict })
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

fn trust(comparison: &Comparison, a_a: Option<&Contrast>, control: Option<&Contrast>) -> Trust {
    let differs = |c: &Contrast| matches!(c.verdict, Verdict::Better | Verdict::Worse);
    let fewest = crate::design::fewest_blocks(1, comparison.precision.alpha);
    if comparison.blocks < fewest {
        return Trust::TooFew {
            why: format!(
                "{} complete blocks; a claim at {} needs {fewest}",
                comparison.blocks, comparison.precision.alpha
            ),
        };
    }
    match (a_a, control) {
        (Some(a_a), _) if differs(a_a) => Trust::Untrustworthy {
            why: format!(
                "the baseline differed from itself by a factor of {:.3}: something other than the placement changes from run to run",
                a_a.ratio
            ),
        },
        (_, Some(control)) if !differs(control) => Trust::Insensitive {
            why: format!(
                "crowding the load onto the server's CPU changed the figure by a factor of {:.3}, which is not told apart from no change: this load would not show a bad placement",
                control.ratio
            ),
        },
        _ => Trust::Sound,
    }
}

impl Trust {
    /// The verdict that stands where the controls failed, whatever p says; `None` where they came out as they should.
    pub(crate) fn instead(&self) -> Option<Verdict> {
        match self {
            Trust::Sound => None,
            Trust::Insensitive { .. } => Some(Verdict::Insensitive),
            Trust::Untrustworthy { .. } => Some(Verdict::Untrustworthy),
            Trust::TooFew { .. } => Some(Verdict::Undecided),
        }
    }
}

fn withhold_untrusted_claims(evidence: &mut Evidence) {
    let Some(instead) = evidence.trust.instead() else { return };
    for contrast in evidence.against_baseline.iter_mut().chain(&mut evidence.against_other_cpus) {
        contrast.verdict = instead;
    }
    evidence.effects.iter_mut().for_each(|effect| effect.verdict = instead);
}

/// The figure of an arm in each block: of several trials in one boot their geometric mean.
fn figures_by_block(own: &[&Trial], metric: &str) -> Vec<f64> {
    let mut blocks: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
    for trial in own {
        let figure = trial.figures.get(metric).copied();
        figure.into_iter().for_each(|figure| blocks.entry(trial.block).or_default().push(figure));
    }
    let of_block = |figures: Vec<f64>| match figures[..] {
        [one] => one,
        _ => (figures.iter().map(|figure| figure.ln()).sum::<f64>() / figures.len() as f64).exp(),
    };
    blocks.into_values().map(of_block).collect()
}

fn summarise_arm(arm: &Arm, trials: &[Trial], metric: &str) -> Option<ArmSummary> {
    let own: Vec<&Trial> = trials.iter().filter(|t| t.arm == arm.name).collect();
    let by_block = figures_by_block(&own, metric);
    let figure = summary::summarise(&by_block)?;
    let mut cpus_used: BTreeMap<u32, f64> = BTreeMap::new();
    for (cpu, share) in own.iter().flat_map(|t| &t.as_run.server_cpus_used) {
        *cpus_used.entry(*cpu).or_default() += share / own.len() as f64;
    }
    let mut values: BTreeMap<&String, Vec<f64>> = BTreeMap::new();
    for (name, value) in own.iter().flat_map(|t| &t.figures).filter(|(name, _)| *name != metric) {
        values.entry(name).or_default().push(*value);
    }
    let others =
        values.into_iter().filter_map(|(name, v)| Some((name.clone(), summary::median(&v)?))).collect();
    Some(ArmSummary {
        arm: arm.name.clone(),
        role: arm.role,
        cpu: arm.cpu,
        figure,
        by_block,
        cpus_used,
        others,
    })
}

#[cfg(test)]
mod tests;
