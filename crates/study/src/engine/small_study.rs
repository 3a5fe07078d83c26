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

/// Makes its case in the folder `below/name` of `case`. `salt` makes its order differ from that of the study's own trials.
///
/// # Errors
/// As [`Case::revealed`] and [`Case::create_below`].
pub(super) fn create(
    case: &Case,
    (below, name): (&str, &str),
    arms: Vec<Arm>,
    claims: usize,
    salt: u64,
) -> Result<Case, Fault> {
    let study = case.revealed()?;
    let mut recipe = Recipe { search: None, ..study.recipe };
    recipe.budget.observed_blocks = None;
    let blocks = blocks_for(claims, &recipe);
    let order = design::draw_order(arms.len(), blocks, recipe.seed.unwrap_or_default() ^ salt);
    let (stages, found, added) = (Vec::new(), None, Vec::new());
    case.create_below(
        below,
        name,
        Resolved { format: FORMAT, order, boots: None, recipe, arms, stages, found, added, ..study },
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::tests::resolved;

    #[test]
    fn a_proof_or_verification_has_the_secrets_of_its_study_or_is_not_begun() {
        let dir = tempfile::tempdir().unwrap();
        let text = "[load]\ndriver = 'nats'\nuser = 'ann'\npassword = 'hunter2-XYZ'\n";
        let recipe = Recipe::from_toml(text, "x").unwrap().with_directions().unwrap();
        let study = Resolved { recipe: recipe.clone(), ..resolved() };
        drop(Case::create(dir.path(), study).unwrap());
        let outer = Case::open(dir.path()).unwrap();
        let small = |name: &str| create(&outer, ("proofs", name), outer.study.arms.clone(), 1, 7);
        let proof = small("one").unwrap();
        assert_eq!(proof.revealed().unwrap().recipe, recipe);
        let study = std::fs::read_to_string(proof.dir().join("study.toml")).unwrap();
        assert!(!study.contains("hunter2"), "{study}");
        std::fs::remove_file(dir.path().join("secrets.toml")).unwrap();
        let fault = small("two").unwrap_err();
        assert!(fault.object.ends_with("secrets.toml") && fault.cause.contains("load.password"), "{fault}");
        assert!(!dir.path().join("proofs/two").exists());
    }
}
