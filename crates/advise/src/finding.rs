//! Findings: a claim with its evidence, its mechanism and its remedy.

use machine::Missing;
use serde::{Deserialize, Serialize};
use study::{Contrast, Intervention, Proof};

use crate::loss::Loss;

/// One counter on the slow CPU beside the same counter on the other CPUs.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvidenceLine {
    /// What was counted, and where the server was meanwhile.
    pub what: String,
    /// On the slow CPU.
    pub bad: f64,
    /// On the other CPUs: median.
    pub good: f64,
    /// Unit of both: `/s`, `% of CPU time`.
    pub unit: String,
}

/// The loss that a mechanism predicts from counters alone, without looking at the figure of the study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Predicted {
    /// Share of the server's speed, 0 to 1; the geometric middle where only a range is known.
    pub share: f64,
    /// Lower end; equals `share` when the cost of one event was measured.
    pub from: f64,
    /// Upper end; equals `share` when the cost of one event was measured.
    pub to: f64,
    /// How it was computed, with its caveats.
    pub how: String,
}

/// How the predicted loss compares with the observed one. Losses are compared as logs of the speed that is left, so
/// that 50 % and 95 % are not "within a factor of two".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Fit {
    /// Within a factor of two of the observed interval.
    Agrees,
    /// The prediction is only a range or only a lower bound, and the observed loss does not contradict it.
    Plausible,
    /// The mechanism would cost less than half of what was lost.
    TooSmall,
    /// The mechanism would cost more than twice what was lost.
    TooLarge,
    /// No size could be predicted.
    Unknown,
}

impl Fit {
    /// Whether a finding of this size may stand as the explanation of the loss.
    pub fn may_explain(self) -> bool {
        !matches!(self, Fit::TooSmall | Fit::TooLarge)
    }
}

/// How far a finding can be relied on; the best first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// The cause was moved, and the loss moved with it, as predicted.
    Proved,
    /// The cause was not moved, but an imitation of it on a good CPU cost as much.
    Imitated,
    /// The predicted size agrees with the observed loss, and nothing else differs as much.
    Supported,
    /// The counter moved on a slow CPU.
    Possible,
    /// No rule explains this slow CPU.
    Unexplained,
    /// The intervention came out against it.
    Refuted,
}

impl Standing {
    /// The word as tables print it.
    pub fn word(self) -> &'static str {
        match self {
            Standing::Proved => "proved",
            Standing::Imitated => "imitated",
            Standing::Supported => "supported",
            Standing::Possible => "possible",
            Standing::Unexplained => "unexplained",
            Standing::Refuted => "refuted",
        }
    }
}

/// A claim with everything that it rests on.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Finding {
    /// Id of the rule; `unexplained` where no rule applies.
    pub rule: String,
    /// What it is known by within a case, in every version: proofs name their finding by it.
    pub id: String,
    /// Short title.
    pub title: String,
    /// The slow CPU.
    pub cpu: Option<u32>,
    /// What is claimed, in one sentence.
    pub claim: String,
    /// Why that slows the server, in one or two sentences.
    pub mechanism: String,
    /// The counters that it rests on.
    pub evidence: Vec<EvidenceLine>,
    /// The slow CPU against the other CPUs.
    pub observed: Option<Contrast>,
    /// The loss that the mechanism predicts.
    pub predicted_loss: Option<Predicted>,
    /// How prediction and observation compare.
    pub fit: Fit,
    /// The same in words, with figures.
    pub agreement: String,
    /// How far it can be relied on.
    pub standing: Standing,
    /// What could not be looked at, and why.
    pub missing: Vec<Missing>,
    /// What to do about it.
    pub remedy: String,
    /// What to type to see it and to fix it by hand.
    pub commands: Vec<String>,
    /// The small study that would prove or refute it; `None` where the cause cannot be moved.
    pub intervention: Option<Intervention>,
    /// How that study came out, if it was run.
    pub proof: Option<Proof>,
    /// The proof in words.
    pub proof_words: Option<String>,
}

impl Finding {
    /// Whether a study that proves or refutes it can be run, and has not been.
    pub fn can_be_proved(&self) -> bool {
        self.intervention.is_some() && self.proof.is_none()
    }
}

/// Slowest CPU first; within a CPU the most reliable explanation first, then the largest.
pub(crate) fn rank(findings: &mut [Finding]) {
    findings.sort_by(|a, b| {
        let loss = |f: &Finding| f.observed.as_ref().map_or(0.0, |c| Loss::of(c).share);
        let size = |f: &Finding| f.predicted_loss.as_ref().map_or(0.0, |p| p.share);
        loss(b)
            .total_cmp(&loss(a))
            .then(a.cpu.cmp(&b.cpu))
            .then(a.standing.cmp(&b.standing))
            .then(size(b).total_cmp(&size(a)))
            .then(a.title.cmp(&b.title))
    });
}
