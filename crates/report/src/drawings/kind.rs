//! What an arm is to the reader; colour, shape and words follow from it everywhere alike.

use std::collections::BTreeSet;

use study::{Arm, Evidence, Role, Verdict};

/// What an arm is to the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Slower than the other CPUs.
    Slow,
    /// Faster than the other CPUs.
    Fast,
    /// A pinned arm that does not stand out.
    Pinned,
    /// The baseline.
    Unpinned,
    /// The positive control.
    Control,
}

impl Kind {
    /// The kind of each arm, for look-up by name.
    pub fn of(arm: &Arm, evidence: &Evidence) -> Self {
        match arm.role {
            Role::Baseline => Kind::Unpinned,
            Role::Dose | Role::MisTuning => Kind::Control,
            Role::Candidate | Role::Intervention => {
                match evidence.against_other_cpus.iter().find(|c| c.arm == arm.name).map(|c| c.verdict) {
                    Some(Verdict::Worse) => Kind::Slow,
                    Some(Verdict::Better) => Kind::Fast,
                    _ => Kind::Pinned,
                }
            }
        }
    }

    /// Style class; the style sheet has the colours.
    pub fn class(self) -> &'static str {
        match self {
            Kind::Slow => "slow",
            Kind::Fast => "fast",
            Kind::Pinned => "pinned",
            Kind::Unpinned => "unpinned",
            Kind::Control => "control",
        }
    }

    /// In words, for legends.
    pub fn words(self) -> &'static str {
        match self {
            Kind::Slow => "slow CPU",
            Kind::Fast => "faster than the other CPUs",
            Kind::Pinned => "pinned, not told apart from the others",
            Kind::Unpinned => "unpinned",
            Kind::Control => "positive control",
        }
    }

    /// The kinds that occur among the arms, in order.
    pub fn present(arms: &[Arm], evidence: &Evidence) -> Vec<Kind> {
        arms.iter().map(|arm| Kind::of(arm, evidence)).collect::<BTreeSet<_>>().into_iter().collect()
    }
}
