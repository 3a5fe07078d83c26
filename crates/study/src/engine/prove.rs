//! Runs an intervention: a small study of its own inside the case, so that it too can be resumed and looked at.

use std::path::PathBuf;

use machine::{Class, Fault};

use crate::case::{Case, FORMAT, Resolved};
use crate::design;
use crate::intervention::{Intervention, Proof, judge};

/// Fewest blocks of a proof; as in a study, many short ones.
const FEWEST_BLOCKS: usize = 16;

/// Blocks of a proof: what its predictions need at the study's level, and one more against a lost block.
fn blocks_for(intervention: &Intervention, alpha: f64) -> usize {
    (design::fewest_blocks(intervention.predictions.len(), alpha) + 1).max(FEWEST_BLOCKS)
}

/// Makes (or goes on with) the case of an intervention under `proofs/NAME` of `case`.
pub fn open(case: &Case, name: &str, intervention: &Intervention) -> Result<Case, Fault> {
    let dir: PathBuf = case.dir().join("proofs").join(name);
    if dir.join("study.toml").exists() {
        let earlier = Case::resume(&dir)?;
        return match earlier.study.arms == intervention.arms {
            true => Ok(earlier),
            false => Err(Fault::new(
                Class::Usage,
                dir.display(),
                "an earlier proof with other arms lies there",
                "remove that folder to prove the finding anew",
            )),
        };
    }
    let blocks = blocks_for(intervention, case.study.recipe.precision.alpha);
    let seed = case.study.recipe.seed.unwrap_or_default() ^ 0x9e37_79b9;
    let study = Resolved {
        format: FORMAT,
        order: design::draw_order(intervention.arms.len(), blocks, seed),
        arms: intervention.arms.clone(),
        ..case.study.clone()
    };
    Case::create(&dir, study)
}

/// What the finished trials of an intervention say.
pub fn conclude(finding: &str, name: &str, intervention: &Intervention, proof_case: &Case) -> Proof {
    let recipe = &proof_case.study.recipe;
    Proof {
        finding: finding.to_string(),
        intervention: intervention.clone(),
        trials: format!("proofs/{name}"),
        outcomes: judge(intervention, &proof_case.trials, &recipe.metric, recipe.better, recipe.precision),
    }
}
