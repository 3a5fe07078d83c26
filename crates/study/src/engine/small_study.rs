//! Small studies inside a case, with its server, load and precision, and arms of their own: proofs and verifications.

use std::path::Path;

use machine::Fault;

use crate::arm::Arm;
use crate::case::{Case, FORMAT, Resolved};
use crate::design;
use crate::recipe::Recipe;

/// Fewest blocks; as in a study, many short ones.
const FEWEST_BLOCKS: usize = 16;

/// Blocks for so many claims: what they need at the level `alpha`, and one more against a lost block.
pub(super) fn blocks_for(claims: usize, alpha: f64) -> usize {
    (design::fewest_blocks(claims, alpha) + 1).max(FEWEST_BLOCKS)
}

/// Makes its case in `dir`. `salt` tells its order from that of the study's own trials.
pub(super) fn create(
    case: &Case,
    dir: &Path,
    arms: Vec<Arm>,
    claims: usize,
    salt: u64,
) -> Result<Case, Fault> {
    let recipe = Recipe { search: None, ..case.study.recipe.clone() };
    let blocks = blocks_for(claims, recipe.precision.alpha);
    let order = design::draw_order(arms.len(), blocks, recipe.seed.unwrap_or_default() ^ salt);
    let (stages, found, added) = (Vec::new(), None, Vec::new());
    Case::create(
        dir,
        Resolved {
            format: FORMAT,
            order,
            boots: None,
            recipe,
            arms,
            stages,
            found,
            added,
            ..case.study.clone()
        },
    )
}
