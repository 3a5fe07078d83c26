//! `search.jsonl`: what a search asked for, block by block, and what it found. Each line is on disk before its block begins, so
//! that trials name arms and blocks that are known.

use serde::{Deserialize, Serialize};

use crate::arm::Arm;
use crate::search::Stage;

/// One line of `search.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Line {
    /// A block to run.
    Block(Asked),
    /// The end.
    Found(Found),
}

/// A block that a search asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Asked {
    /// Where the search was.
    pub stage: Stage,
    /// Arms that no block before had; they are numbered on from those that are known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub arms: Vec<Arm>,
    /// Indices of arms, in the order in which they run.
    pub order: Vec<usize>,
}

/// An arm that ran before the confirmation.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ran {
    /// Its name.
    pub arm: String,
    /// Trials of it that gave a figure.
    pub trials: usize,
    /// The figure that the model expects of it, as a ratio to that of the winner. No claim: it is what guided the search.
    pub to_winner: f64,
}

/// What a search found.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Found {
    /// The arm that was confirmed; `None` when no trial gave a figure.
    pub winner: Option<String>,
    /// Arms that ran and are not out, the most promising first.
    pub ran: Vec<Ran>,
    /// Arms that are out: the best that ever ran is among them with chance `precision.alpha` at most.
    pub out: Vec<String>,
    /// Arms that gave no figure too often.
    pub failed: Vec<String>,
    /// Known arms that never ran. Nothing is claimed of them.
    pub never_ran: usize,
    /// Placements that the sizes allow, levels of other factors not counted; combinations of levels where those alone were searched.
    pub placements: String,
    /// Classes of placements under the symmetry of the machine; empty where levels alone were searched.
    pub classes: String,
    /// What of them was not listed at the start, in words; the search steps beside what it has listed.
    pub left_out: Option<String>,
    /// What distinguishes CPUs and groups of CPUs from others that are like them.
    pub differences: Vec<String>,
    /// What made the symmetry smaller than it may be.
    pub notes: Vec<String>,
}
