//! `added.jsonl`: blocks that were added to a study after it was made. Each line is on disk before its first trial begins.
//!
//! Added blocks follow the planned ones and never mix with them: trials of the planned blocks are neither repeated nor
//! counted otherwise because of an addition.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::design::Order;

/// Blocks that were added at one time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Added {
    /// The first of them, counted from 0 over all blocks of the study.
    pub first_block: usize,
    /// How many there are.
    pub blocks: usize,
    /// When they were added, seconds since 1970 (UTC).
    pub made_unix_s: u64,
}

impl Added {
    /// Their blocks.
    pub fn range(&self) -> Range<usize> {
        self.first_block..self.first_block + self.blocks
    }
}

/// One line of `added.jsonl`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// The first block, counted from 0 over all blocks of the study.
    pub first_block: usize,
    /// When the blocks were added, seconds since 1970 (UTC).
    pub made_unix_s: u64,
    /// Arm indices by block, in the order in which they run.
    pub order: Order,
    /// Of a study across boots: how many of the trials each boot has, by block.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub boots: Vec<Vec<usize>>,
}
