//! The answer, whatever the figures are.

use std::collections::BTreeMap;

use load::operations::{Kind, Phase};
use machine::CpuSet;
use proptest::prelude::*;
use report::case::headline;
use study::evidence::{AlsoCompared, ArmCliff, Spot, Typical, Whose};
use study::{Arm, Direction, Facts, Role, Verdict};

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

/// Two CPUs that are alike, and server and load together on either, which costs a third.
fn worse_together() -> Facts {
    facts(&[1000.0, 1000.0, 1000.0, 1000.0, 700.0, 700.0, 800.0], 0.002)
}

#[test]
fn arms_that_are_worse_are_counted_with_what_the_others_are() {
    let title = headline::read(&worse_together(), &[]).title;
    assert!(title.starts_with("2 of 4 placements are worse than unpinned, the other 2 are "), "{title}");
    let mut of_keys = worse_together();
    for arm in of_keys.study.arms.iter_mut().filter(|arm| arm.role == Role::Candidate) {
        arm.keys.insert("load.messages".into(), serde_json::from_value(serde_json::json!(128)).unwrap());
    }
    for contrast in of_keys.evidence.against_baseline.iter_mut().filter(|c| c.verdict != Verdict::Worse) {
        contrast.verdict = Verdict::Undecided;
    }
    let title = headline::read(&of_keys, &[]).title;
    assert_eq!(title, "2 of 4 arms are worse than unpinned, the other 2 are not shown to differ");
}

#[test]
fn blocks_that_show_only_large_differences_cannot_tell() {
    let mut open = facts(&[1000.0], 0.002);
    let evidence = &mut open.evidence;
    for contrast in evidence.against_baseline.iter_mut().chain(&mut evidence.against_other_cpus) {
        contrast.verdict = Verdict::Undecided;
    }
    let title = |visible_share: f64| {
        let mut facts = open.clone();
        facts.evidence.power.as_mut().unwrap().visible_share = visible_share;
        headline::read(&facts, &[]).title
    };
    assert_eq!(
        title(0.3),
        "No CPU is shown to be slow; a difference of 30 % or more would probably have been seen"
    );
    assert_eq!(
        title(6.31),
        "Cannot tell: with this noise, 12 blocks show only differences of a factor of 7.3 or more"
    );
    assert!(title(0.6).ends_with("only differences of 60 % or more"), "{}", title(0.6));
}

#[test]
fn where_a_sequence_breaks_is_the_answer() {
    let mut facts = worse_together();
    let spot =
        Spot { kind: Kind::Put, phase: Phase::Fill, nth: 84.0, earliest: 81, latest: 84, of: 128, trials: 7 };
    let moved = vec![("pages written to swap".to_string(), 7)];
    facts.evidence.cliffs = vec![ArmCliff {
        arm: "cpu 1".into(),
        trials: 7,
        broke: 7,
        breaks: Some(Typical { spot, before_us: 7_949.0, after_us: 16_230.0, moved }),
        first_swap: None,
        parts: Vec::new(),
        shown: 0,
    }];
    let answer = headline::read(&facts, &[]);
    assert_eq!(
        answer.title,
        "CPU 1: breaks at put 84 of 128 (2.0 times as slow from there on, pages written to swap)"
    );
    assert!(
        answer.points.iter().any(|point| point.starts_with("2 of 4 placements are worse")),
        "{answer:#?}"
    );
}

#[test]
fn an_arm_that_is_worse_by_another_figure_is_a_point() {
    let mut facts = worse_together();
    let against_baseline = facts.evidence.against_baseline.iter().cloned().map(|mut contrast| {
        (contrast.ratio, contrast.interval, contrast.verdict) =
            (10.264, Some((7.299, 12.13)), Verdict::Worse);
        contrast
    });
    facts.evidence.also = vec![AlsoCompared {
        metric: "latency_p99_us".into(),
        unit: "us".into(),
        better: Direction::Lower,
        blocks: 12,
        against_baseline: against_baseline.collect(),
    }];
    for contrast in facts.evidence.against_baseline.iter_mut().filter(|c| c.arm.starts_with("cpu ")) {
        contrast.verdict = if contrast.arm == "cpu 1" { Verdict::Undecided } else { Verdict::Worse };
    }
    let answer = headline::read(&facts, &[]);
    let named: Vec<&String> = answer.points.iter().filter(|point| point.contains("latency_p99_us")).collect();
    let point = "CPU 1: latency_p99_us +926.4 % [+629.9, +1,113] against unpinned, though its requests_per_s is not shown to differ.";
    assert_eq!(named, [point], "those that are worse anyhow say so in the answer");
    let figures = "4 comparisons with unpinned is at most 5 %, and 5 % more for each of the other CPUs and latency_p99_us.";
    assert!(answer.sure.contains(figures), "{}", answer.sure);
    assert!(
        answer.sure.contains("No difference was seen between the two runs of the baseline."),
        "{}",
        answer.sure
    );
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
    assert!(page.contains("but not shown to be slow for the server"));
}
