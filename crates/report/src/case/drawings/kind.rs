//! What an arm is to the reader; colour, shape and words follow from it everywhere alike.

use std::collections::BTreeSet;

use study::{Arm, Evidence, Role, Verdict};

/// What an arm is to the reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Slower than the other CPUs, and it is the server that loses the time there.
    Slow,
    /// Worse than the other CPUs, and the server alone is not known to be why: no CPU may be called slow for it.
    Worse,
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
                let is_slow = evidence.slow_cpus().iter().any(|contrast| contrast.arm == arm.name);
                match evidence.against_other_cpus.iter().find(|c| c.arm == arm.name).map(|c| c.verdict) {
                    Some(Verdict::Worse) if is_slow => Kind::Slow,
                    Some(Verdict::Worse) => Kind::Worse,
                    Some(Verdict::Better) => Kind::Fast,
                    _ => Kind::Pinned,
                }
            }
        }
    }

    /// Whether it is below the other CPUs.
    pub fn is_below(self) -> bool {
        matches!(self, Kind::Slow | Kind::Worse)
    }

    /// Style class; the style sheet has the colours.
    pub fn class(self) -> &'static str {
        match self {
            Kind::Slow | Kind::Worse => "slow",
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
            Kind::Worse => "worse than the other CPUs, but not shown to be slow for the server",
            Kind::Fast => "faster than the other CPUs",
            Kind::Pinned => "pinned, not shown to differ from the other CPUs",
            Kind::Unpinned => "unpinned",
            Kind::Control => "positive control",
        }
    }

    /// The kinds that occur among the arms, in order.
    pub fn present(arms: &[Arm], evidence: &Evidence) -> Vec<Kind> {
        arms.iter().map(|arm| Kind::of(arm, evidence)).collect::<BTreeSet<_>>().into_iter().collect()
    }
}
