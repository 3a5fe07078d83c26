//! `study.toml`: what is studied and how, with every default filled in and every block drawn.

use std::ops::Range;

use load::string::work::rounds_for;
use machine::Fault;
use serde::{Deserialize, Serialize};

use super::added_blocks::Added;
use super::search_log::{Asked, Found, Line};
use crate::arm::Arm;
use crate::boots::Boots;
use crate::design::Order;
use crate::recipe::{Recipe, Secrets};
use crate::search::Stage;
use crate::statistics::signed_rank::MOST_BLOCKS;

/// `study.toml`: the study as it was resolved when the case was made. It never changes afterwards.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resolved {
    /// Version of the folder's form.
    pub format: u32,
    /// Version of pinwise that made the case.
    pub pinwise: String,
    /// When it was made, seconds since 1970 (UTC).
    pub made_unix_s: u64,
    /// The command line that made it.
    pub command: Vec<String>,
    /// Which trial runs when: arm indices by block.
    pub order: Order,
    /// Which of them share a boot of the machine, of a study across boots.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub boots: Option<Boots>,
    /// Rounds of computation per request of the built-in string server, when it is used: fixed once, so that every trial does equal work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub string_rounds: Option<u64>,
    /// The recipe with every default filled in.
    pub recipe: Recipe,
    /// The arms; of a search, those that it asked for so far are added when a case is opened.
    pub arms: Vec<Arm>,
    /// Of a search: where it was in each block of `order`.
    #[serde(skip)]
    pub stages: Vec<Stage>,
    /// Of a search that has ended: what it found.
    #[serde(skip)]
    pub found: Option<Found>,
    /// Blocks that were added after the case was made; `order` has them at its end.
    #[serde(skip)]
    pub added: Vec<Added>,
}

impl Resolved {
    /// Adds a line of `search.jsonl`.
    ///
    /// # Errors
    /// In words: it names an arm that is not known.
    pub(super) fn extend(&mut self, line: Line) -> Result<(), String> {
        match line {
            Line::Found(found) => self.found = Some(found),
            Line::Block(Asked { stage, arms, order }) => {
                self.arms.extend(arms);
                if let Some(arm) = order.iter().find(|arm| **arm >= self.arms.len()) {
                    return Err(format!("a block names arm {arm}, of {} that are known", self.arms.len()));
                }
                self.stages.push(stage);
                self.order.push(order);
            }
        }
        Ok(())
    }

    /// Whether it is a search that has not ended: then blocks are asked for that `order` does not have yet.
    pub fn is_searching(&self) -> bool {
        self.recipe.search.is_some() && self.found.is_none()
    }

    /// Without the secrets of its recipe, and those.
    pub(super) fn concealed(self) -> Result<(Self, Secrets), Fault> {
        let (recipe, secrets) = self.recipe.concealed()?;
        Ok((Self { recipe, ..self }, secrets))
    }

    /// Rounds of computation per request of the built-in string server, where an arm asks for other work than the recipe: in
    /// proportion, so that the speed at which they were measured once holds for all arms.
    pub fn string_rounds_of(&self, arm: &Recipe) -> u64 {
        let fixed = self.string_rounds.unwrap_or_default();
        let asked = arm.work_us / self.recipe.work_us;
        if asked.is_finite() { (fixed as f64 * asked).round() as u64 } else { rounds_for(arm.work_us) }
    }

    /// Blocks that the study was planned with, without those that were added. Of a search: those that it asked for so far.
    pub fn planned_blocks(&self) -> usize {
        self.added.first().map_or(self.order.len(), |first| first.first_block)
    }

    /// The part of the study that a block belongs to: the planned blocks, or one addition.
    pub fn part_of(&self, block: usize) -> Range<usize> {
        let added = self.added.iter().map(Added::range).find(|range| range.contains(&block));
        added.unwrap_or(0..self.planned_blocks())
    }
}

/// Whether so many blocks can be weighed: more would take very long.
///
/// Errors: in words.
pub(super) fn bounded_blocks(blocks: usize) -> Result<(), String> {
    match blocks <= MOST_BLOCKS {
        true => Ok(()),
        false => Err(format!("it has {blocks} blocks, and {MOST_BLOCKS} is the most")),
    }
}
