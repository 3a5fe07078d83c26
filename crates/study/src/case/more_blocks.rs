//! Blocks that are added to a study: how they are drawn, and how they follow those that it has. Pure.

use machine::{Class, Fault};

use super::Resolved;
use super::added_blocks::{Added, Line};
use super::resolved::bounded_blocks;
use crate::arm::Role;
use crate::boots;
use crate::design;
use crate::statistics::signed_rank::MOST_BLOCKS;

impl Resolved {
    /// Draws `blocks` more blocks. The order continues the stream of the seed, so that it is the one that the study would have
    /// had if it had been planned with so many blocks. Pure.
    ///
    /// # Errors
    /// `Usage` where blocks cannot be added: a search, a proof or verification, more than [`MOST_BLOCKS`] in all.
    pub fn more_blocks(&self, blocks: usize, made_unix_s: u64) -> Result<Line, Fault> {
        self.may_have_more(blocks)?;
        let (first_block, seed) = (self.order.len(), self.recipe.seed.unwrap_or_default());
        let all = first_block + blocks;
        let (order, boots) = match &self.boots {
            None => (design::draw_order(self.arms.len(), all, seed), Vec::new()),
            Some(_) => {
                let rounds = self.recipe.budget.trials_a_boot;
                design::draw_boots(&boots::sharing(&self.arms), rounds, all, seed)
            }
        };
        let of_added = |of: Vec<Vec<usize>>| of.into_iter().skip(first_block).collect();
        Ok(Line { first_block, made_unix_s, order: of_added(order), boots: of_added(boots) })
    }

    /// Whether so many blocks can be added.
    ///
    /// # Errors
    /// As [`more_blocks`](Self::more_blocks).
    pub fn may_have_more(&self, blocks: usize) -> Result<(), Fault> {
        let refused = |cause: String, remedy: String| {
            Err(Fault::new(Class::Usage, format!("--blocks +{blocks}"), cause, remedy))
        };
        if self.recipe.search.is_some() {
            let remedy = "run the search again with more trials (--search=TRIALS)";
            return refused("a search chooses its own blocks".into(), remedy.into());
        }
        if self.arms.iter().any(|arm| arm.role == Role::Intervention) {
            let cause = "a proof or a verification has a fixed number of blocks";
            return refused(cause.into(), "add blocks to the study that it belongs to".into());
        }
        let left = MOST_BLOCKS.saturating_sub(self.order.len());
        if blocks > left {
            let cause = format!("the study has {} blocks, and {MOST_BLOCKS} is the most", self.order.len());
            let remedy = match left {
                0 => "start a new study".into(),
                _ => format!("add at most +{left}"),
            };
            return refused(cause, remedy);
        }
        Ok(())
    }

    /// Adds a line of `added.jsonl`.
    ///
    /// # Errors
    /// In words: it does not follow the blocks that are known, or names an arm that is not.
    pub(crate) fn add(&mut self, line: Line) -> Result<(), String> {
        let Line { first_block, made_unix_s, order, boots: of_boots } = line;
        if first_block != self.order.len() {
            return Err(format!(
                "it begins at block {first_block}, after {} that are known",
                self.order.len()
            ));
        }
        if let Some(arm) = order.iter().flatten().find(|arm| **arm >= self.arms.len()) {
            return Err(format!("a block names arm {arm}, of {} that are known", self.arms.len()));
        }
        if self.boots.is_some() {
            boots::cover(&of_boots, &order)?;
        }
        bounded_blocks(first_block + order.len())?;
        self.added.push(Added { first_block, blocks: order.len(), made_unix_s });
        self.order.extend(order);
        if let Some(known) = &mut self.boots {
            known.trials.extend(of_boots);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::tests::resolved;

    #[test]
    fn added_blocks_are_those_that_a_longer_study_would_have_had() {
        let mut study = resolved();
        study.recipe.seed = Some(1);
        let longer = design::draw_order(study.arms.len(), 9, 1);
        let planned = study.order.clone();
        let line = study.more_blocks(3, 7).unwrap();
        study.add(line).unwrap();
        let line = study.more_blocks(4, 8).unwrap();
        study.add(line).unwrap();
        assert_eq!(study.order, longer);
        assert_eq!(study.order[..2], planned[..]);
        let added = |first_block, blocks, made_unix_s| Added { first_block, blocks, made_unix_s };
        assert_eq!(study.added, [added(2, 3, 7), added(5, 4, 8)]);
        assert_eq!(study.planned_blocks(), 2);
        assert_eq!([0, 1, 2, 4, 5, 8].map(|b| study.part_of(b)), [0..2, 0..2, 2..5, 2..5, 5..9, 5..9]);
    }

    #[test]
    fn what_cannot_have_more_blocks_says_why() {
        let mut study = resolved();
        let fault = study.more_blocks(399, 0).unwrap_err();
        assert!(fault.class == Class::Usage && fault.remedy.contains("+398"), "{fault}");
        assert!(study.more_blocks(398, 0).is_ok());
        study.arms[0].role = Role::Intervention;
        assert!(study.more_blocks(1, 0).unwrap_err().cause.contains("proof"));
        study.recipe.search = Some(Default::default());
        assert!(study.more_blocks(1, 0).unwrap_err().cause.contains("search"));
    }

    #[test]
    fn a_line_that_does_not_follow_is_refused() {
        let mut study = resolved();
        let line = study.more_blocks(1, 0).unwrap();
        let gap = Line { first_block: 3, ..line.clone() };
        assert!(study.add(gap).unwrap_err().contains("begins at block 3"));
        let strange = Line { order: vec![vec![99]], ..line };
        assert!(study.add(strange).unwrap_err().contains("arm 99"));
        assert_eq!(study, resolved());
    }
}
