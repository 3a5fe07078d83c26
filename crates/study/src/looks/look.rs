//! What was found at a look, as `evidence.json` has it.

use serde::{Deserialize, Serialize};

/// What was found at a look.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Look {
    /// Blocks that were complete.
    pub blocks: usize,
    /// Error that may be spent on its claims.
    pub alpha: f64,
    /// Comparisons and effects that were not decided.
    pub undecided: usize,
    /// Whether the study ended here.
    pub ended: bool,
}
