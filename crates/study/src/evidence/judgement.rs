//! What came of the expectations of a study.

use serde::{Deserialize, Serialize};

use crate::expectation::Expectation;

/// What came of an expectation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "kebab-case")]
pub enum Outcome {
    /// The whole interval is on the side that passes.
    Passed,
    /// The whole interval is on the other side, or the arm served nothing.
    Failed,
    /// Neither.
    CannotTell {
        /// Why.
        why: Unjudged,
    },
}

/// Why an expectation was not judged.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "because", rename_all = "kebab-case")]
pub enum Unjudged {
    /// The bound lies within the interval.
    Straddles,
    /// There are too few blocks for an interval at this level.
    TooFew {
        /// Blocks with all that it needs.
        blocks: usize,
        /// The fewest for which there is one.
        needed: usize,
    },
    /// The study has not come to its end.
    Unfinished,
    /// The baseline differed from itself.
    Untrustworthy,
    /// The server of this arm was not where the arm says.
    NotAsAsked {
        /// The arm.
        arm: String,
    },
    /// Every attempt of this arm failed in some block, and it was given up.
    GivenUp {
        /// The arm.
        arm: String,
    },
    /// No trial of this arm has the figure.
    NoFigure {
        /// The arm.
        arm: String,
    },
}

/// What all expectations of a study come to: the worst of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Gate {
    /// All hold.
    Passed,
    /// Some do not hold.
    Failed,
    /// None is known not to hold, and some are not known to hold.
    CannotTell,
}

/// What these come to; `None` where nothing was expected.
pub fn gate(judgements: &[Judgement]) -> Option<Gate> {
    let any = |wanted: fn(&Outcome) -> bool| judgements.iter().any(|judged| wanted(&judged.outcome));
    Some(match judgements {
        [] => return None,
        _ if any(|outcome| *outcome == Outcome::Failed) => Gate::Failed,
        _ if any(|outcome| *outcome != Outcome::Passed) => Gate::CannotTell,
        _ => Gate::Passed,
    })
}

/// An expectation with what was measured.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    /// What was demanded.
    pub expectation: Expectation,
    /// The arm that it is about, as tables call it.
    pub arm: String,
    /// Blocks that count.
    pub blocks: usize,
    /// The median of the figure in its unit, or the ratio to the other arm.
    pub value: Option<f64>,
    /// The interval around it; `None` with too few blocks.
    pub interval: Option<(f64, f64)>,
    /// The level of that interval: 0.95 where one expectation is judged once.
    pub confidence: f64,
    /// What came of it.
    pub outcome: Outcome,
}
