//! Small studies inside a case, with its server, load and precision, and arms of their own: proofs and verifications.

use machine::Fault;

use crate::arm::Arm;
use crate::case::{Case, FORMAT, Resolved};
use crate::design;
use crate::recipe::Recipe;

/// As many blocks as are usual: as in a study, many short ones. Not more than a study that was to be short has itself.
const USUAL_BLOCKS: usize = 16;

/// Blocks for so many claims: what they need at the recipe's level, and one more against a lost block; or as many as are usual.
fn blocks_for(claims: usize, recipe: &Recipe) -> usize {
    let needed = design::fewest_blocks(claims, recipe.precision.alpha) + 1;
    needed.max(USUAL_BLOCKS.min(recipe.budget.blocks))
}

/// Makes its case in the folder `below/name` of `case`. `salt` tells its order from that of the study's own trials.
pub(super) fn create(
    case: &Case,
    (below, name): (&str, &str),
    arms: Vec<Arm>,
    claims: usize,
    salt: u64,
) -> Result<Case, Fault> {
    let recipe = Recipe { search: None, ..case.study.recipe.clone() };
    let blocks = blocks_for(claims, &recipe);
    let order = design::draw_order(arms.len(), blocks, recipe.seed.unwrap_or_default() ^ salt);
    let (stages, found, added) = (Vec::new(), None, Vec::new());
    case.create_below(
        below,
        name,
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
