//! The answer, whatever the figures are.

use std::collections::BTreeMap;

use machine::CpuSet;
use proptest::prelude::*;
use report::case::headline;
use study::evidence::Whose;
use study::{Arm, Facts, Role, Verdict};

use crate::build::{self, Shape, deviate};
use crate::others;

/// A study of two CPUs whose arms have these means, in order.
fn facts(means: &[f64], noise: f64) -> Facts {
    build::facts(&Shape {
        title: "",
        cpus: CpuSet::from_list("0-1").unwrap(),
        blocks: 12,
        figure: &|_: &Arm, index, block| means[index % means.len()] * (1.0 + noise * deviate(index, block)),
        counters: &|_| Vec::new(),
        used: &|_| BTreeMap::new(),
        missing: Vec::new(),
    })
}

/// The storm on CPU 0, where the trials do not show whether the server or the load meets it there.
#[test]
fn a_cause_is_named_where_nobody_knows_who_meets_it() {
    let mut facts = others::two_cpus();
    facts.interrupt_cost_ns = Some(27_000.0);
    for contrast in facts.evidence.against_other_cpus.iter_mut().filter(|c| c.verdict == Verdict::Worse) {
        contrast.whose = Some(Whose::Inseparable);
    }
    let findings = advise::examine(&facts);
    let named = headline::read(&facts, &findings);
    assert!(
        named.title.contains("with the server on CPU 0") && named.title.contains("interrupts take CPU 0"),
        "{named:#?}"
    );
    assert!(!named.title.contains("is slow"), "{named:#?}");
    let unnamed = headline::read(&facts, &[]);
    assert!(unnamed.title.contains("do not show whose CPU is the cause"), "{unnamed:#?}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// The baseline twice, each CPU, both on each, and the dose, whose mean may be anything: a control that helps is a finding.
    #[test]
    fn a_control_is_never_better_than_what_is_claimed_without_a_word(
        means in proptest::collection::vec(500.0f64..2000.0, 6),
        noise in 0.001f64..0.1,
    ) {
        let all: Vec<f64> = std::iter::once(means[0]).chain(means.iter().copied()).collect();
        let facts = facts(&all, noise);
        let evidence = &facts.evidence;
        let control = evidence.control_against_baseline.as_ref().map(|contrast| contrast.ratio);
        let claimed = evidence.against_baseline.iter().filter(|contrast| contrast.verdict == Verdict::Better);
        let best = claimed.map(|contrast| contrast.ratio).reduce(f64::max);
        let name = evidence.arms.iter().find(|arm| arm.role == Role::Dose).map(|arm| arm.arm.clone());
        let answer = headline::read(&facts, &[]);
        if let (Some(control), Some(best), Some(name)) = (control, best, name)
            && control > best
        {
            let said = answer.points.iter().any(|point| point.to_lowercase().starts_with(&name));
            prop_assert!(said, "{name} is at {control}, and {best} is claimed: {answer:#?}");
        }
    }
}

/// The picture accuses no CPU either.
#[test]
fn no_bar_is_called_slow_where_nobody_knows_who_meets_the_cause() {
    let drawn = |facts: &Facts| {
        report::case::html::render(&crate::e5::view(facts, &[], &advise::Explained::of(facts)))
    };
    let mut facts = others::two_cpus();
    assert!(drawn(&facts).contains(">slow</text>"));
    for contrast in facts.evidence.against_other_cpus.iter_mut().filter(|c| c.verdict == Verdict::Worse) {
        contrast.whose = Some(Whose::Inseparable);
    }
    let page = drawn(&facts);
    assert!(!page.contains(">slow</text>") && page.contains(">worse</text>"));
    assert!(page.contains("not for the server alone"));
}
