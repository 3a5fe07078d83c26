//! What a rule of the diagnosis is, and what it says when it has looked.

use machine::Missing;
use serde::Serialize;

use crate::diagnosis::cause::{Cause, ShareOf};
use crate::diagnosis::scene::Scene;

/// What a rule is, for `pinwise list rules` and docs/causes.md.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct About {
    /// Id: the file's name with dashes. It stays for ever.
    pub id: &'static str,
    /// The mechanism in a few words, as it stands in "ruled out: ...": `quota`, `swap`.
    pub title: &'static str,
    /// Which part of the server's time it takes.
    pub costs: Costs,
    /// Shape, likely cause, how to distinguish it from what looks the same, where to look next: a paragraph.
    pub docs: &'static str,
}

/// The part of a server's time that a mechanism takes: claims about the same part may overlap, claims about others do not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Costs {
    /// Interrupts while it runs, and waiting for a CPU.
    CpuAccess,
    /// Being held back by a quota.
    Quota,
    /// Being blocked: disk, swap, locks of the kernel.
    Blocked,
    /// Its own time on a CPU, which does less or has more to do.
    OwnTime,
    /// Sleep.
    Asleep,
    /// Nobody's in particular: the machine as a whole.
    Machine,
}

impl Costs {
    /// Of which time the share of a cause is one: a server that sleeps does not try to make progress.
    pub fn share_of(self) -> ShareOf {
        match self {
            Self::Asleep => ShareOf::AllTime,
            Self::Machine => ShareOf::Window,
            Self::CpuAccess | Self::Quota | Self::Blocked | Self::OwnTime => ShareOf::ActiveTime,
        }
    }
}

/// Cost that is part of what the server does.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct OwnWork {
    /// Id of the rule that looked.
    pub rule: &'static str,
    /// What it is: `its own packets on lo`.
    pub what: String,
    /// Share of the time in which the server tried to go on, 0 to 1.
    pub share: f64,
}

/// What a rule found.
#[derive(Debug, Clone, PartialEq)]
pub enum Looked {
    /// Causes that matter.
    Found(Vec<Cause>),
    /// It looked, and this costs nothing that matters.
    Fine,
    /// It looked, and found cost that is the server's own work: no theft, and nothing to move.
    OwnWork(OwnWork),
    /// There is nothing of the kind here: no swap, one node.
    DoesNotApply,
    /// It could not look.
    CannotTell(Missing),
}

impl Looked {
    /// Causes, or that all is well.
    pub fn of(causes: Vec<Cause>) -> Self {
        if causes.is_empty() { Self::Fine } else { Self::Found(causes) }
    }

    /// What a rule says that needs the kernel's account of each event, where there is none.
    pub fn needs_account(about: &About) -> Self {
        let why = "needs root and eBPF: without them only counters are known";
        Self::CannotTell(Missing::new(about.title, why))
    }

    /// What a rule says that needs a fact which is missing.
    pub fn without(about: &About, missing: &Missing) -> Self {
        Self::CannotTell(Missing::new(about.title, format_args!("{}: {}", missing.fact, missing.why)))
    }
}

/// A mechanism that can cost a server time.
pub trait Rule: Sync {
    /// What it is.
    fn about(&self) -> &'static About;

    /// Ids of the rules that name the same time by its reason: what this one finds is left out where one of them finds something.
    fn gives_way_to(&self) -> &'static [&'static str] {
        &[]
    }

    /// Share of the server's time that the same takes where the mechanism is not at work, 0 to 1: of two arms, the one that has the mechanism
    /// is charged with what it takes beyond that.
    fn share_without(&self, _scene: &Scene<'_>) -> f64 {
        0.0
    }

    /// Looks for it. Never blames what was not seen.
    fn examine(&self, scene: &Scene<'_>) -> Looked;
}
