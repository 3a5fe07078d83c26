//! The evidence of a study, as `evidence.json` has it.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{
    AlsoCompared, ArmCliff, ArmStanding, ArmSummary, Contrast, Control, Effect, Growth, Judgement, Pooled,
    Power, QuotaTaken, Trust, Verdict, Whose,
};
use crate::arm::Role;
use crate::case::search_log::Found;
use crate::looks::Look;
use crate::own_traffic::harm::Harm;
use crate::own_traffic::jumps::Jump;
use crate::recipe::{Direction, Precision};

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
    /// Share of [`load_judged_trials`](Self::load_judged_trials) in which the load was the limit, and not the server; `None` where there
    /// are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_limited_share: Option<f64>,
    /// Trials without a dose in which the load can be distinguished from the server: those in which each could have CPUs of its own.
    #[serde(default)]
    pub load_judged_trials: usize,
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
    /// What guards ended, of a study under a server's own traffic; `None` of any other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harm: Option<Harm>,
    /// Trials that count although the traffic was another in them than in the rest of their block.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub traffic_jumps: Vec<Jump>,
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

    /// CPUs with which the figure is worse, and not because of the server's CPU as far as can be known: worst first.
    pub fn not_the_servers(&self) -> Vec<&Contrast> {
        self.worse_than_other_cpus(|whose| matches!(whose, Some(Whose::Load | Whose::Inseparable)))
    }

    /// CPUs with which the figure is worse and whose counters may show why: all but those where the load alone lost the time. Worst first.
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
        first.map_or("baseline", ArmSummary::title)
    }

    /// In how many trials the load was the limit, of [`load_judged_trials`](Self::load_judged_trials): `all 56 trials`,
    /// `14 of the 84 trials`. `None` where that is not known of any.
    pub fn load_limited_trials(&self) -> Option<String> {
        let known = self.load_judged_trials;
        let limited = (self.load_limited_share? * known as f64).round() as usize;
        Some(match limited == known {
            true => format!("all {known} trials"),
            false => format!("{limited} of the {known} trials"),
        })
    }

    /// The summary of an arm by name.
    pub fn arm(&self, name: &str) -> Option<&ArmSummary> {
        self.arms.iter().find(|a| a.arm == name)
    }
}
