//! Runs an intervention: a small study of its own inside the case, so that it too can be resumed and looked at.

use std::path::PathBuf;

use machine::{Class, Fault};

use super::small_study;
use crate::case::Case;
use crate::intervention::{Intervention, Proof, judge};

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
    small_study::create(case, &dir, intervention.arms.clone(), intervention.predictions.len(), 0x9e37_79b9)
}

/// What the finished trials of an intervention say.
pub fn conclude(finding: &str, name: &str, intervention: &Intervention, proof_case: &Case) -> Proof {
    let recipe = &proof_case.study.recipe;
    Proof {
        finding: finding.to_string(),
        intervention: intervention.clone(),
        trials: format!("proofs/{name}"),
        outcomes: judge(
            intervention,
            &proof_case.trials,
            &recipe.metric,
            recipe.direction(),
            recipe.precision,
        ),
    }
}
