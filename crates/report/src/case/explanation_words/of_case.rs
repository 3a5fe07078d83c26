//! What an explanation does not have and its case does: what the load asked for, and the server's CPU time.

use std::collections::{BTreeMap, BTreeSet};

use advise::explanation::{Basis, Explanation};
use load::LoadSpec;
use machine::wording::counted;
use study::{Arm, Facts};

use super::value;
use crate::visible::one_line;

/// The figure of the server's CPU time by request that was answered, us.
const SERVER_CPU_US: &str = "server_cpu_us_per_request";

/// Keys of the load at which the two arms differ (`load.operation`): their requests are not the same work.
pub fn differing_load_keys(explanation: &Explanation, facts: &Facts) -> BTreeSet<String> {
    let of = |name: &str| facts.study.arms.iter().find(|arm| arm.name == name);
    let Some((arm, against)) = of(&explanation.arm).zip(of(&explanation.against)) else {
        return BTreeSet::new();
    };
    let keys = arm.keys.keys().chain(against.keys.keys()).filter(|key| key.starts_with("load."));
    let differs = |key: &&String| match load_with(facts, arm, key).zip(load_with(facts, against, key)) {
        Some((one, other)) => one != other,
        None => arm.keys.get(*key) != against.keys.get(*key),
    };
    keys.filter(differs).cloned().collect()
}

/// The load of the recipe with this one key as the arm has it; `None` where it cannot have it alone.
fn load_with(facts: &Facts, arm: &Arm, key: &str) -> Option<LoadSpec> {
    let keys: BTreeMap<_, _> =
        arm.keys.get(key).map(|value| (key.to_string(), value.clone())).into_iter().collect();
    facts.study.recipe.with_keys(&keys).ok().map(|recipe| recipe.load)
}

/// That arms whose load does other work are left out; `None` where none is.
pub fn other_work(explanations: &[Explanation], facts: &Facts) -> Option<String> {
    let differing = explanations.iter().map(|explanation| differing_load_keys(explanation, facts));
    let differing: Vec<BTreeSet<String>> = differing.filter(|keys| !keys.is_empty()).collect();
    let keys: BTreeSet<&str> = differing.iter().flatten().map(String::as_str).collect();
    let keys: Vec<&str> = keys.into_iter().collect();
    let against = explanations.first().filter(|_| !keys.is_empty())?;
    Some(format!(
        "Left out: {} whose load does different work from that of {} ({}).",
        counted(differing.len(), "arm"),
        one_line(&against.against),
        one_line(&keys.join(", "))
    ))
}

/// The server's CPU time by request that was answered, us, in the arm and in the one that it is held against: medians over the deciding
/// trials. `None` where either is not known.
pub fn server_cpu_us(explanation: &Explanation, facts: &Facts) -> Option<(f64, f64)> {
    let of = |name: &str| {
        let arm = facts.evidence.arms.iter().find(|arm| arm.arm == name)?;
        arm.others.get(SERVER_CPU_US).copied()
    };
    of(&explanation.arm).zip(of(&explanation.against))
}

/// The same as a sentence.
pub fn server_cpu_time(explanation: &Explanation, facts: &Facts) -> Option<String> {
    let (arm, against) = server_cpu_us(explanation, facts)?;
    Some(format!(
        "A request takes {} of the server's CPU time in {}, {} in {}.",
        value(Basis::Request, arm),
        one_line(&explanation.arm),
        value(Basis::Request, against),
        one_line(&explanation.against)
    ))
}
