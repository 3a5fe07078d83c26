//! Which terms of an explanation are shown, in which order, and how sure each is.

use advise::explanation::term::Term;
use advise::explanation::waterfall::{Change, Step};
use advise::explanation::{Basis, Explanation, MATTERS};

use crate::number;

/// A term in which both arms spend less than this share of the time is next to nothing.
const NOTHING: f64 = 0.001;

/// How sure it is that a term differs. In the order in which terms are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sureness {
    /// Its interval leaves out 0.
    Shown,
    /// There are too few blocks for an interval.
    TooFewBlocks,
    /// Its interval holds 0.
    MayBeChance,
    /// The difference is below [`MATTERS`] of the whole time.
    Small,
    /// Both arms spend next to no time in it.
    Nothing,
}

impl Sureness {
    fn of(change: &Change, whole: f64) -> Self {
        match change.interval {
            _ if change.from.abs().max(change.to.abs()) < NOTHING * whole.abs() => Self::Nothing,
            Some(_) if !change.is_there() => Self::MayBeChance,
            _ if change.difference().abs() < MATTERS * whole => Self::Small,
            Some(_) => Self::Shown,
            None => Self::TooFewBlocks,
        }
    }

    /// Whether the term has a line of its own where room is short.
    pub fn is_named(self) -> bool {
        matches!(self, Self::Shown | Self::TooFewBlocks)
    }

    /// In words; nothing of what is shown.
    pub fn words(self) -> &'static str {
        match self {
            Self::Shown => "",
            Self::TooFewBlocks => "too few blocks to tell",
            Self::MayBeChance => "may be chance",
            Self::Small => "below 1 %",
            Self::Nothing => "next to nothing",
        }
    }
}

/// A term that is shown.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ShownStep<'a> {
    /// Its change and its parts.
    pub step: &'a Step,
    /// How sure it is.
    pub sureness: Sureness,
}

impl ShownStep<'_> {
    /// The difference that it makes.
    pub fn by(&self) -> f64 {
        self.step.change.difference()
    }
}

/// The terms that are shown, and what they add up to.
#[derive(Debug, Clone, PartialEq)]
pub struct ShownTerms<'a> {
    /// Those that differ first; among them those that changed most.
    pub steps: Vec<ShownStep<'a>>,
    /// All of them in the arm that is held against.
    pub from: f64,
    /// All of them in the arm.
    pub to: f64,
    /// The difference in all; `None` where the terms that are shown are not all, or add up to the window.
    pub total: Option<&'a Change>,
    /// The difference as a percentage; empty where the terms add up to the window.
    pub change: String,
}

/// What is shown of an explanation: at a fixed rate without sleep, which is what the rate leaves.
pub fn shown_terms(explanation: &Explanation) -> ShownTerms<'_> {
    let leaves_out = explanation.basis == Basis::RequestAtFixedRate;
    let shown = explanation.server.steps.iter().filter(|step| !(leaves_out && step.term == Term::Asleep));
    let sum = |of: fn(&Change) -> f64| shown.clone().map(|step| of(&step.change)).sum::<f64>();
    let (from, to) = (sum(|change| change.from), sum(|change| change.to));
    let mut steps: Vec<ShownStep> =
        shown.map(|step| ShownStep { step, sureness: Sureness::of(&step.change, from) }).collect();
    steps.sort_by_key(|step| step.sureness);
    let change = if from > 0.0 { number::change(to / from) } else { String::new() };
    let (total, change) = match explanation.basis {
        Basis::Request => (Some(&explanation.server.total), change),
        Basis::RequestAtFixedRate => (None, change),
        Basis::Window => (None, String::new()),
    };
    ShownTerms { steps, from, to, total, change }
}
