//! The positive control: whether this study can see a loss of known size. Pure.
//!
//! A dose is bad by construction: a thief takes a known share of the server's CPU time. What it took is read from the kernel, so that the
//! loss can be held against it. A mis-tuning of a recipe's own has no such size, and may even help.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::arm_summary::typical;
use super::comparison::Comparison;
use super::gains::{Gains, differences};
use super::standing::ArmStanding;
use super::{Contrast, Question};
use crate::arm::{Arm, Role, baseline_name, is_of_baseline};
use crate::statistics::signed_rank;
use crate::statistics::summary;
use crate::trial::Trial;

/// A capacity passes when its loss lies within this factor of what was taken.
const WITHIN: f64 = 2.0;

/// A thief that took less than this part of what it asked for is no control.
const TAKEN_AT_LEAST: f64 = 0.5;

/// A load or a server that is less near to its limit than this, as a share, has slack.
const WANTED: f64 = 0.9;

/// What the control is.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum ControlKind {
    /// A thief on the CPUs of the server.
    Dose {
        /// Share of each CPU that it asked for.
        asked_share: f64,
        /// Share that it took, by the kernel's account (median over the trials); `None` where that could not be read.
        taken_share: Option<f64>,
        /// Whether the loss is held against what was taken: the figure is a capacity.
        sized: bool,
    },
    /// A mis-tuning of the recipe's own, of no known size.
    MisTuning,
}

impl ControlKind {
    /// Whether its size is known by construction.
    pub fn is_dose(&self) -> bool {
        matches!(self, ControlKind::Dose { .. })
    }
}

/// Why a control was not seen.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "why", rename_all = "kebab-case")]
pub enum Unseen {
    /// The thief got less than half of what it asked for.
    NotTaken {
        /// What it got.
        taken_share: f64,
    },
    /// The load was busy and the server was not: the load is the limit.
    LoadLimits {
        /// How busy the load's busiest thread was.
        client_busy: f64,
        /// How near the server was to its limit ([`AsRun::server_busy_share`](crate::AsRun::server_busy_share)).
        server_busy: f64,
    },
    /// The server was only this near to its limit: it has slack that the thief took.
    Slack {
        /// What [`AsRun::server_busy_share`](crate::AsRun::server_busy_share) is.
        server_wanted: f64,
    },
    /// The figure is no capacity: it need not fall as CPU time does.
    NoCapacity,
    /// A loss was seen, and it is not of the size of what was taken.
    OutOfProportion {
        /// Loss at the near and at the far end of the interval.
        loss: (f64, f64),
    },
    /// None of these: nothing in the case says why.
    Unexplained,
}

/// Whether the control came out as it has to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "kebab-case")]
pub enum ControlOutcome {
    /// The loss was seen, of a capacity in proportion to what was taken.
    Seen,
    /// It made the figure better: a finding, and no control.
    Helped,
    /// It was not seen.
    Unseen(Unseen),
}

/// The positive control of a study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Control {
    /// Against its reference: the arm that it is a dose in; of a mis-tuning the arm with the server on the same CPU, or the baseline.
    #[serde(flatten)]
    pub contrast: Contrast,
    /// What it is.
    pub kind: ControlKind,
    /// What came out.
    pub outcome: ControlOutcome,
}

impl Control {
    /// The loss of the figure with its interval, shares: positive is worse, negative better.
    pub fn loss(&self, better: crate::recipe::Direction) -> (f64, Option<(f64, f64)>) {
        let loss = |ratio: f64| 1.0 - better.gain(ratio).exp();
        let interval = self.contrast.interval.map(|(a, b)| (loss(a).min(loss(b)), loss(a).max(loss(b))));
        (loss(self.contrast.ratio), interval)
    }
}

/// Judges the control of `arms`; `None` where there is none, or none that ran as asked.
pub(super) fn of(
    comparison: &Comparison,
    arms: &[Arm],
    gains: &[Gains],
    baseline: &Gains,
    trials: &[Trial],
    question: &Question<'_>,
    standings: &BTreeMap<String, ArmStanding>,
) -> Option<Control> {
    let at = arms.iter().position(|arm| arm.role.is_positive_control())?;
    let arm = &arms[at];
    let reference = reference(arms, arm);
    let of_reference = reference.map_or(baseline, |at| &gains[at]);
    let name = reference.map_or_else(|| baseline_name(arms), |at| arms[at].name.clone());
    let is_unfit = |name: &String| standings.contains_key(name);
    if is_unfit(&arm.name) || reference.is_some_and(|at| is_unfit(&arms[at].name)) || of_reference.is_empty()
    {
        return None;
    }
    let row = differences(&gains[at], of_reference);
    // A control must be distinguished from no change at all; the margin is for what a reader cares about.
    let (helped, hurt) = (signed_rank::p_above(&row, 0.0), signed_rank::p_below(&row, 0.0));
    let level = comparison.precision.alpha / 2.0;
    let contrast = comparison.family(vec![(arm, row, name.clone())]).pop()?;
    let own: Vec<&Trial> = trials.iter().filter(|trial| trial.arm == arm.name).collect();
    let kind = kind(arm, &own, question);
    let control = Control { contrast, kind, outcome: ControlOutcome::Seen };
    let outcome = match (helped <= level, hurt <= level) {
        (true, _) => ControlOutcome::Helped,
        (_, true) => in_proportion(&control, question),
        _ => {
            let is_reference = |trial: &&Trial| match reference {
                Some(at) => trial.arm == arms[at].name,
                None => is_of_baseline(arms, &trial.arm),
            };
            ControlOutcome::Unseen(why_unseen(kind, trials.iter().filter(is_reference).collect(), question))
        }
    };
    Some(Control { outcome, ..control })
}

/// The arm that a control is compared with; `None`: the baseline, by the mean of its two trials.
fn reference(arms: &[Arm], control: &Arm) -> Option<usize> {
    let is_candidate = |arm: &&Arm| arm.role == Role::Candidate;
    match &control.reference {
        Some(name) => arms.iter().position(|arm| arm.name == *name && is_candidate(&arm)),
        // Against the unpinned baseline a mis-tuning need not be worse: where one CPU carries the interrupts of every placement, another
        // is better whatever shares it. So it is held against the arm that differs by nothing but where the load runs.
        None => arms.iter().position(|arm| {
            is_candidate(&arm)
                && arm.cpu.is_some()
                && arm.placement.server_cpus == control.placement.server_cpus
        }),
    }
}

fn kind(arm: &Arm, trials: &[&Trial], question: &Question<'_>) -> ControlKind {
    let Some(dose) = &arm.placement.dose else { return ControlKind::MisTuning };
    let taken: Vec<f64> = trials.iter().filter_map(|trial| trial.as_run.dose_taken_share).collect();
    let taken_share = summary::median(&taken);
    ControlKind::Dose {
        asked_share: dose.share(),
        taken_share,
        sized: question.is_capacity && taken_share.is_some(),
    }
}

/// Holds the loss of a capacity against what was taken.
fn in_proportion(control: &Control, question: &Question<'_>) -> ControlOutcome {
    let ControlKind::Dose { taken_share: Some(taken), sized: true, .. } = control.kind else {
        return ControlOutcome::Seen;
    };
    match control.loss(question.better).1 {
        Some(loss) if loss.1 < taken / WITHIN || loss.0 > taken * WITHIN => {
            ControlOutcome::Unseen(Unseen::OutOfProportion { loss })
        }
        _ => ControlOutcome::Seen,
    }
}

/// Why nothing was seen, from the trials of the reference.
fn why_unseen(kind: ControlKind, reference: Vec<&Trial>, question: &Question<'_>) -> Unseen {
    if let ControlKind::Dose { asked_share, taken_share: Some(taken_share), .. } = kind
        && taken_share < TAKEN_AT_LEAST * asked_share
    {
        return Unseen::NotTaken { taken_share };
    }
    let server_busy = typical(&reference, |headroom| headroom.server_busy);
    let client_busy = typical(&reference, |headroom| headroom.client_busy);
    let wanted: Vec<f64> = reference.iter().filter_map(|trial| trial.as_run.server_busy_share()).collect();
    let server_wanted = summary::median(&wanted).or(server_busy);
    match (client_busy, server_wanted) {
        (Some(client_busy), Some(server_busy)) if client_busy > WANTED && server_busy < WANTED => {
            Unseen::LoadLimits { client_busy, server_busy }
        }
        (_, Some(server_wanted)) if server_wanted < WANTED => Unseen::Slack { server_wanted },
        _ if !question.is_capacity => Unseen::NoCapacity,
        _ => Unseen::Unexplained,
    }
}
