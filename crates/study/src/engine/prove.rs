//! Runs an intervention: a small study of its own inside the case, so that it too can be resumed and looked at.

use machine::{Class, Fault};

use super::small_study;
use crate::case::Case;
use crate::intervention::{Intervention, Proof, judge};

/// The folder of a case for the cases of its interventions.
const FOLDER: &str = "proofs";

/// Makes (or goes on with) the case of an intervention under `proofs/NAME` of `case`.
///
/// # Errors
/// As [`Case::create_with`] and [`Case::resume`]; a proof of other arms lies there.
pub fn open(case: &Case, name: &str, intervention: &Intervention) -> Result<Case, Fault> {
    let Some(earlier) = case.resume_below(FOLDER, name)? else {
        let (arms, claims) = (intervention.arms.clone(), intervention.predictions.len());
        return small_study::create(case, (FOLDER, name), arms, claims, 0x9e37_79b9);
    };
    match earlier.study.arms == intervention.arms {
        true => Ok(earlier),
        false => Err(Fault::new(
            Class::Usage,
            earlier.dir().display(),
            "there is an earlier proof with other arms",
            "remove that folder to prove the finding again",
        )),
    }
}

/// What the finished trials of an intervention say.
pub fn conclude(finding: &str, name: &str, intervention: &Intervention, proof_case: &Case) -> Proof {
    let recipe = &proof_case.study.recipe;
    Proof {
        finding: finding.to_string(),
        intervention: intervention.clone(),
        trials: format!("{FOLDER}/{name}"),
        outcomes: judge(
            intervention,
            &proof_case.trials,
            &recipe.metric,
            recipe.direction(),
            recipe.precision,
        ),
    }
}
