//! The looks that a recipe names, and whether each can decide anything.

use machine::{Class, Fault};

use super::{Budget, Recipe};
use crate::statistics::looks::Looks;

/// Fewest blocks of a study that names no number. Many short blocks, because on a shared host the machine itself drifts by
/// tens of per cent within a minute: with 8 blocks two contrary ones hid a storm that takes a quarter of a CPU
/// (docs/journal/0006-many-short-blocks.md). Not across boots, whose blocks take minutes each.
pub(crate) const FEWEST_BLOCKS: usize = 14;

impl Budget {
    /// Its looks before the end of a study of so many blocks, and that end, rising.
    pub(crate) fn looks_and_end(&self, blocks: usize) -> Vec<usize> {
        let mut looks: Vec<usize> = self.looks.iter().copied().filter(|look| *look < blocks).collect();
        looks.push(blocks);
        looks.sort_unstable();
        looks.dedup();
        looks
    }
}

impl Recipe {
    /// Holds the looks of a file to a level above 0 at the number of blocks that the file has. Where a flag, or the comparisons, ask for
    /// another number, looks without a level are left out.
    ///
    /// # Errors
    /// A look at which nothing can be claimed; the fault names the first at which something can.
    pub(super) fn check_looks(&self) -> Result<(), Fault> {
        let budget = &self.budget;
        // Across boots there are as few blocks as the comparisons need, which the machine decides.
        let is_open = budget.blocks == 0 && self.asks_for_boots();
        if budget.looks.is_empty() || self.search.is_some() || is_open {
            return Ok(());
        }
        let blocks = if budget.blocks == 0 { FEWEST_BLOCKS } else { budget.blocks };
        let without = Looks::new(&budget.looks_and_end(blocks), self.precision.alpha)?.without_level();
        match without.first().filter(|look| **look < blocks) {
            Some(look) => Err(self.decides_nothing(*look, blocks)),
            None => Ok(()),
        }
    }

    fn decides_nothing(&self, look: usize, blocks: usize) -> Fault {
        let has_level = |first: &usize| {
            let looks = Looks::new(&[*first, blocks], self.precision.alpha);
            looks.is_ok_and(|looks| looks.level_at(0) > 0.0)
        };
        let remedy = match (look + 1..blocks).find(has_level) {
            Some(first) => format!("look after {first} blocks or later, or leave budget.looks out"),
            None => "leave budget.looks out, or run more blocks".into(),
        };
        let cause = format!(
            "a look after {look} of {blocks} blocks can decide nothing: no claim about so few blocks reaches the level of so early a look"
        );
        Fault::new(Class::Usage, "budget.looks", cause, remedy)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::arm::tests::alike;
    use crate::engine::prepare::resolve;

    fn read(budget: &str) -> Result<Recipe, Fault> {
        Recipe::from_toml(&format!("[budget]\n{budget}\n"), "x.toml")
    }

    #[test]
    fn a_look_that_can_decide_nothing_is_refused_with_the_first_that_can() {
        for budget in ["looks = [8]", "blocks = 14\nlooks = [10, 8]"] {
            let fault = read(budget).unwrap_err();
            assert!(fault.class == Class::Usage && fault.object == "x.toml: budget.looks", "{fault}");
            assert!(fault.cause.contains("after 8 of 14 blocks"), "{fault}");
            assert!(fault.remedy.contains("after 9 blocks or later"), "{fault}");
        }
        assert!(read("blocks = 3\nlooks = [2]").unwrap_err().remedy.contains("more blocks"));
        assert!(read("looks = [0]").unwrap_err().object.contains("looks"));
        for budget in
            ["looks = [9]", "blocks = 8\nlooks = [7]", "blocks = 16\nlooks = [10, 13]", "looks = [20]"]
        {
            assert!(read(budget).is_ok(), "{budget}");
        }
    }

    #[test]
    fn a_study_without_blocks_has_as_many_as_are_taken_for_usual() {
        let study = resolve(Recipe::default(), &alike(2)).unwrap();
        assert_eq!(study.recipe.budget.blocks, FEWEST_BLOCKS);
    }
}
