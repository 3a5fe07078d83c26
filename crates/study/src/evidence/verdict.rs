//! What may be said of one comparison.

use serde::{Deserialize, Serialize};

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
    /// The trials do not decide it.
    Undecided,
    /// The server did not run where the arm, or what it is compared with, says: its figures are about another placement.
    NotAsAsked,
    /// The positive control was not seen (then *equal* alone is withheld), or it helped (then every claim is).
    #[serde(alias = "insensitive")]
    CannotTell,
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
            Verdict::NotAsAsked => "not as asked".into(),
            Verdict::CannotTell => "cannot tell".into(),
            Verdict::Untrustworthy => "untrustworthy".into(),
        }
    }

    /// Whether it says that there is a difference.
    pub fn is_difference(self) -> bool {
        matches!(self, Verdict::Better | Verdict::Worse)
    }
}

/// On whose side the time is lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Whose {
    /// The server's: the CPU is slow for it.
    Server,
    /// The load's, which runs elsewhere when the server runs here.
    Load,
    /// The trials do not distinguish the two.
    Inseparable,
    /// The trials have nothing that would show it.
    Unknown,
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
    /// Of a CPU that is worse than the others: on whose side the time is lost. `None` of any other comparison.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub whose: Option<Whose>,
}

/// Whether claims may be made at all.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Trust {
    /// The baseline did not differ from itself, and there are blocks enough. What the positive control says is in [`super::Control`].
    Sound,
    /// The baseline differed from itself: something other than the placement changes from run to run.
    Untrustworthy {
        /// By what factor.
        ratio: f64,
    },
    /// Too few complete blocks for any claim.
    TooFew {
        /// Complete blocks.
        blocks: usize,
        /// Blocks that a claim takes at least.
        needed: usize,
    },
}

impl Trust {
    /// The verdict that stands in place of every other; `None` where claims may be made.
    pub(crate) fn instead(self) -> Option<Verdict> {
        match self {
            Trust::Sound => None,
            Trust::Untrustworthy { .. } => Some(Verdict::Untrustworthy),
            Trust::TooFew { .. } => Some(Verdict::Undecided),
        }
    }
}
