//! Evidence: effects with intervals, from the trials alone. Pure; can be computed again from `trials.jsonl` on any laptop.
//!
//! Every comparison is made *within* blocks: log ratios of an arm to its reference in the same block. Two families of
//! claims are adjusted by Holm, each for itself: every arm against the baseline (is this placement better than what
//! you have?), and every CPU against the other CPUs (is this CPU a bad one?). The second is what names a slow CPU: on
//! an uneven machine the unpinned baseline is itself a mixture of good and bad CPUs.

mod also;
mod arm_summary;
mod cliffs;
mod comparison;
mod control;
mod effects;
mod expected;
mod gains;
mod growth;
mod notes;
mod of_case;
mod pooled;
mod power;
mod quota;
mod standing;
mod verdict;
mod whose;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub use self::also::AlsoCompared;
pub use self::arm_summary::ArmSummary;
pub use self::cliffs::{ArmCliff, PartTimes, Spot, Typical};
pub(crate) use self::comparison::{Comparison, Judged};
pub use self::control::{Control, ControlKind, ControlOutcome, Unseen};
pub use self::effects::Effect;
pub use self::expected::{Gate, Judgement, Outcome, Unjudged, gate};
pub(crate) use self::gains::{Gains, gains_by_arm};
use self::gains::{differences, mean_by_block};
pub use self::growth::Growth;
pub use self::of_case::{of_blocks, of_case};
pub use self::pooled::{Latencies, Pooled, PooledRatio, needed as needed_latencies, of as pooled};
pub use self::power::Power;
pub use self::quota::QuotaTaken;
pub use self::standing::ArmStanding;
pub use self::verdict::{Contrast, Trust, Verdict};
pub use self::whose::Whose;
use crate::arm::{Arm, Role, baseline_title};
use crate::case::asked::Found;
use crate::looks::Look;
use crate::recipe::{Direction, Precision};
use crate::statistics::summary;
use crate::trial::Trial;

/// What a study asks of its trials.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Question<'a> {
    /// The figure that decides.
    pub metric: &'a str,
    /// Which way it is better.
    pub better: Direction,
    /// What size of difference matters, and how sure a claim must be.
    pub precision: Precision,
    /// Whether the figure is a capacity: a rate in a closed loop, which falls as the server's CPU time does.
    pub is_capacity: bool,
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
    /// The positive control against its reference, and whether it was seen.
    pub control: Option<Control>,
    /// The positive control against the baseline: where it is better than all that is claimed, the reader has to know.
    #[serde(default)]
    pub control_against_baseline: Option<Contrast>,
    /// Arms whose trials were not what the arm asks for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub standings: BTreeMap<String, ArmStanding>,
    /// The CPU quota that took more than the margin from the server, if one did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quota: Option<QuotaTaken>,
    /// Share of all trials in which the load is known to have been the limit, and not the server; `None` where that is not known of any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_limited_share: Option<f64>,
    /// What the comparisons of this study could have seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub power: Option<Power>,
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
    /// What the recipe expects, and whether it holds.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub expectations: Vec<Judgement>,
    /// Descriptive figures by arm.
    pub arms: Vec<ArmSummary>,
    /// What the reader should know.
    pub notes: Vec<String>,
}

impl Evidence {
    /// CPUs that are slow for the server, worst first: slower than the other CPUs, and the time is lost on the server's side as far as
    /// that is known.
    pub fn slow_cpus(&self) -> Vec<&Contrast> {
        self.worse_than_other_cpus(|whose| matches!(whose, None | Some(Whose::Server | Whose::Unknown)))
    }

    /// CPUs with which the figure is worse, and not because of the server's CPU as far as can be told: worst first.
    pub fn not_the_servers(&self) -> Vec<&Contrast> {
        self.worse_than_other_cpus(|whose| matches!(whose, Some(Whose::Load | Whose::Inseparable)))
    }

    /// CPUs with which the figure is worse and whose counters may tell why: all but those where the load alone lost the time. Worst first.
    pub fn cpus_to_explain(&self) -> Vec<&Contrast> {
        self.worse_than_other_cpus(|whose| whose != Some(Whose::Load))
    }

    fn worse_than_other_cpus(&self, of: impl Fn(Option<Whose>) -> bool) -> Vec<&Contrast> {
        let worse = self.against_other_cpus.iter().filter(|c| c.verdict == Verdict::Worse);
        let mut slow: Vec<&Contrast> = worse.filter(|contrast| of(contrast.whose)).collect();
        slow.sort_by(|a, b| self.better.gain(a.ratio).total_cmp(&self.better.gain(b.ratio)));
        slow
    }

    /// What tables call the baseline: `unpinned`, or the name that the recipe gives it.
    pub fn baseline(&self) -> &str {
        let first = self.arms.iter().find(|arm| arm.role == Role::Baseline);
        first.map_or("baseline", |arm| baseline_title(&arm.arm))
    }

    /// The summary of an arm by name.
    pub fn arm(&self, name: &str) -> Option<&ArmSummary> {
        self.arms.iter().find(|a| a.arm == name)
    }
}

/// Computes the evidence of `trials`.
pub fn weigh(arms: &[Arm], trials: &[Trial], question: &Question<'_>) -> Evidence {
    let Question { metric, better, precision, .. } = *question;
    let standings = standing::of(arms, trials);
    let is_starved = |arm: &Arm| matches!(standings.get(&arm.name), Some(ArmStanding::Starved { .. }));
    let is_fit = |arm: &Arm| !standings.contains_key(&arm.name);
    let served: Vec<Arm> = arms.iter().filter(|arm| !is_starved(arm)).cloned().collect();
    let placed = standing::as_placed(arms, trials, &standings);
    let (gains, blocks) = gains_by_arm(&served, &placed, metric, better);
    let incomplete_blocks = trials.iter().map(|t| t.block).collect::<BTreeSet<_>>().len() - blocks;
    let comparison = Comparison { better, precision, blocks };
    let of_role = |role: Role| served.iter().zip(&gains).filter(move |(arm, _)| arm.role == role);

    let baselines: Vec<(&Arm, &Gains)> = of_role(Role::Baseline).collect();
    let a_a = match baselines.as_slice() {
        [(arm, first), (_, second), ..] => {
            comparison.family(vec![(*arm, differences(first, second), "the same again".into())]).pop()
        }
        _ => None,
    };
    let baseline_is_fit = baselines.iter().all(|(arm, _)| is_fit(arm));
    let baseline = mean_by_block(&baselines.iter().map(|(_, gains)| *gains).collect::<Vec<_>>(), blocks);
    let to_baseline = |wanted: fn(Role) -> bool| -> Vec<Contrast> {
        if baselines.is_empty() {
            return Vec::new();
        }
        let rows = served.iter().zip(&gains).filter(|(arm, _)| wanted(arm.role));
        let rows = rows.map(|(arm, own)| (arm, differences(own, &baseline), baseline_name(arms)));
        comparison.family_of(rows.collect(), |arm| is_fit(arm) && baseline_is_fit)
    };
    let cpus: Vec<(&Arm, &Gains)> =
        of_role(Role::Candidate).filter(|(arm, _)| arm.cpu.is_some() && is_fit(arm)).collect();
    let against_other_cpus =
        whose::of(comparison.family(against_others(&cpus, blocks)), &served, &placed, question);
    let against_baseline = to_baseline(|role| matches!(role, Role::Candidate | Role::Intervention));
    let all_fit = served.iter().all(is_fit) && served.len() == arms.len();

    let mut evidence = Evidence {
        metric: metric.to_string(),
        unit: trials.iter().find_map(|t| t.units.get(metric).cloned()).unwrap_or_default(),
        better,
        precision,
        blocks,
        incomplete_blocks,
        trust: trust(&comparison, a_a.as_ref()),
        a_a,
        control: control::of(&comparison, &served, &gains, &baseline, &placed, question, &standings),
        control_against_baseline: to_baseline(Role::is_positive_control).pop(),
        standings: BTreeMap::new(),
        quota: quota::taken(trials, precision.margin),
        load_limited_share: load_limited_share(trials),
        power: None,
        against_baseline,
        against_other_cpus,
        effects: if all_fit { effects::of(&comparison, &served, &gains) } else { Vec::new() },
        also: Vec::new(),
        pooled: Vec::new(),
        growth: Vec::new(),
        cliffs: cliffs::of(arms, trials),
        given_up: BTreeMap::new(),
        looks: Vec::new(),
        search: None,
        expectations: Vec::new(),
        arms: arms.iter().filter_map(|arm| arm_summary::of_arm(arm, trials, metric)).collect(),
        notes: Vec::new(),
    };
    evidence.standings = standings;
    withhold(&mut evidence);
    evidence.power = power::of(&evidence);
    evidence.notes = notes::of(&evidence, trials);
    evidence
}

/// What tables call the baseline: the name of its two arms without what tells them apart.
pub fn baseline_name(arms: &[Arm]) -> String {
    let first = arms.iter().find(|arm| arm.role == Role::Baseline);
    first.map_or("baseline", |arm| baseline_title(&arm.name)).to_string()
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

/// Whether the blocks and the A/A control allow claims.
fn trust(comparison: &Comparison, a_a: Option<&Contrast>) -> Trust {
    let needed = crate::design::fewest_blocks(1, comparison.precision.alpha);
    match a_a {
        _ if comparison.blocks < needed => Trust::TooFew { blocks: comparison.blocks, needed },
        Some(a_a) if a_a.verdict.is_difference() => Trust::Untrustworthy { ratio: a_a.ratio },
        _ => Trust::Sound,
    }
}

/// Share of all trials in which the load is known to have been the limit.
fn load_limited_share(trials: &[Trial]) -> Option<f64> {
    let told: Vec<bool> = trials.iter().filter_map(|trial| trial.headroom.as_ref()?.client_limits).collect();
    let limited = told.iter().filter(|limited| **limited).count();
    (!told.is_empty()).then(|| limited as f64 / trials.len() as f64)
}

/// Takes back the claims that the controls do not bear. A contrast that passed its own test is itself the proof that the study can see
/// a difference, so a positive control that was not seen withholds *equal* alone; one that helped is no control, and then nothing is known
/// of what a loss of CPU time looks like here.
fn withhold(evidence: &mut Evidence) {
    let outcome = evidence.control.as_ref().map(|control| (control.kind.is_dose(), control.outcome));
    let held = |verdict: Verdict| match (evidence.trust.instead(), outcome) {
        _ if verdict == Verdict::NotAsAsked => verdict,
        (Some(instead), _) => instead,
        (None, Some((true, ControlOutcome::Helped))) => Verdict::CannotTell,
        (None, Some((_, ControlOutcome::Unseen { .. } | ControlOutcome::Helped)))
            if verdict == Verdict::Equal =>
        {
            Verdict::CannotTell
        }
        _ => verdict,
    };
    let contrasts = evidence.against_baseline.iter_mut().chain(&mut evidence.against_other_cpus);
    contrasts.for_each(|contrast| contrast.verdict = held(contrast.verdict));
    evidence.effects.iter_mut().for_each(|effect| effect.verdict = held(effect.verdict));
}

#[cfg(test)]
mod tests;
