//! A verdict in a few sentences, one for each cause. Pure.

use super::verdict::{Effect, Verdict};

/// What to make of a verdict: each sentence holds by itself.
pub fn sentences(verdict: &Verdict) -> Vec<&'static str> {
    let any = |effect| verdict.checks.iter().any(|check| check.effect == effect);
    let mut said = Vec::new();
    if any(Effect::NoEffect) {
        said.push("Something that the plan asks for has no effect.");
    }
    if any(Effect::Insensitive) {
        said.push("A trial proves nothing: what it looks for was not seen where it must be.");
    }
    if !verdict.left_over.is_empty() {
        said.push("Something of the plan is left over in the boot after it.");
    }
    if said.is_empty() {
        said.push(without_objection(verdict));
    }
    said
}

/// Nothing speaks against the plan: how much speaks for it?
fn without_objection(verdict: &Verdict) -> &'static str {
    let any = |effect| verdict.checks.iter().any(|check| check.effect == effect);
    match (any(Effect::TookEffect), any(Effect::WasSoBefore), any(Effect::NotTold)) {
        (true, false, false) => "The plan takes effect.",
        (true, true, false) => "The plan takes effect, save for what was so before it.",
        (true, false, true) => "The plan takes effect as far as the kernel shows; some of it is not shown.",
        (true, true, true) => {
            "The plan takes effect as far as the kernel shows; some of it is not shown, and some was so before."
        }
        (false, true, false) => "All was so before the plan: the rehearsal proves nothing about it.",
        (false, true, true) => {
            "What the kernel shows was so before the plan: the rehearsal proves nothing about it."
        }
        (false, false, _) => "Nothing that the kernel shows says whether the plan takes effect.",
    }
}

#[cfg(test)]
mod tests {
    use machine::diff::Difference;

    use super::super::verdict::Check;
    use super::*;

    fn said(effects: &[Effect], left_over: usize) -> String {
        let check = |effect: &Effect| Check {
            asked: "nosmt".into(),
            effect: *effect,
            evidence: String::new(),
            source: String::new(),
        };
        let difference = Difference { fact: "kernel.smt".into(), before: None, after: None };
        let verdict = Verdict {
            holds: false,
            checks: effects.iter().map(check).collect(),
            left_over: vec![difference; left_over],
            moves_by_itself: Vec::new(),
            changed: Vec::new(),
        };
        sentences(&verdict).join(" ")
    }

    #[test]
    fn each_cause_has_its_sentence() {
        use Effect::{Insensitive, NoEffect, NotTold, TookEffect, WasSoBefore};
        assert_eq!(said(&[TookEffect], 0), "The plan takes effect.");
        assert!(said(&[TookEffect, NoEffect], 0).contains("has no effect"));
        assert!(said(&[TookEffect, Insensitive], 0).starts_with("A trial proves nothing"));
        assert!(said(&[NotTold], 0).starts_with("Nothing that the kernel shows"));
        assert!(said(&[TookEffect, NotTold], 0).contains("as far as the kernel shows"));
        assert!(said(&[TookEffect, WasSoBefore], 0).contains("save for what was so before"));
        assert!(said(&[WasSoBefore], 0).starts_with("All was so before"));
        assert!(said(&[WasSoBefore, NotTold], 0).starts_with("What the kernel shows was so before"));
        let left = said(&[TookEffect, NoEffect], 1);
        assert!(left.contains("has no effect") && left.contains("left over"), "{left}");
        assert!(!said(&[TookEffect], 1).contains("takes effect"));
    }
}
