//! The fields that terminal, page and JSON document share: each is in all of them that it says it is in.

use std::path::Path;

use load::operations::{Kind, Phase};
use report::case::result_fields::{self, Column};
use report::case::table::{self, Style};
use report::case::{json, result_words};
use serde_json::Value;
use study::case::search_log::{Found, Ran};
use study::evidence::{AlsoCompared, ArmCliff, CpuUse, Effect, PartTimes, Pooled, PooledRatio};
use study::{Direction, Facts, Trust, Verdict};

use crate::{html, others, scaling};

/// A study that has everything that the tables are about.
fn facts() -> Facts {
    let mut facts = scaling::facts("[1, 2, 4, 6, 9, 12, 18, 24]");
    let evidence = &mut facts.evidence;
    let used = CpuUse { used_cpus: Some(0.96), busiest_share: Some(0.9), may_use_cpus: Some(1.0) };
    evidence.arms.iter_mut().for_each(|arm| arm.server_cpus = used);
    evidence.against_other_cpus = evidence.against_baseline.clone();
    evidence.effects = effects();
    evidence.also = vec![AlsoCompared {
        metric: "latency_p99_us".into(),
        unit: "us".into(),
        better: Direction::Lower,
        blocks: 10,
        against_baseline: evidence.against_baseline.clone(),
    }];
    evidence.pooled = vec![pooled()];
    evidence.cliffs = vec![sequence(&evidence.arms[0].arm)];
    let ran = |arm: &str| Ran { arm: arm.into(), trials: 3, to_winner: 0.98 };
    evidence.search = Some(Found { ran: vec![ran("a"), ran("b")], ..Found::default() });
    facts
}

/// One factor whose effect has another sign at another level of the second.
fn effects() -> Vec<Effect> {
    let effect = |factor: &str, ratio, with: Option<&str>| Effect {
        factor: factor.into(),
        level: "2".into(),
        against: "1".into(),
        with: with.map(|with| [with, "2", "1"].map(String::from)),
        blocks: 10,
        ratio,
        interval: Some((ratio - 0.01, ratio + 0.01)),
        p_adjusted: 0.0123,
        verdict: Verdict::Better,
    };
    vec![effect("turned", 1.05, None), effect("plain", 2.0, None), effect("turned", 1.3, Some("plain"))]
}

fn pooled() -> Pooled {
    let ratio = PooledRatio {
        arm: "cpu 0".into(),
        reference: "unpinned".into(),
        requests: 12_345,
        arm_us: 90.0,
        reference_us: 80.0,
        ratio: 1.125,
        interval: None,
    };
    Pooled {
        metric: "latency_p99_us".into(),
        quantile: 0.99,
        better: Direction::Lower,
        method: String::new(),
        level: 0.95,
        samples: 2000,
        seed: 1,
        blocks: 10,
        against_baseline: vec![ratio],
        missing: Vec::new(),
    }
}

fn sequence(arm: &str) -> ArmCliff {
    let times =
        |kind| PartTimes { phase: Phase::Fill, kind, operations: 128, median_us: 500.0, max_us: 900.0 };
    ArmCliff {
        arm: arm.into(),
        trials: 10,
        broke: 0,
        breaks: None,
        first_swap: None,
        parts: vec![times(Kind::Put), times(Kind::Get)],
        shown: 0,
    }
}

/// What the three say of the same study.
struct Rendered {
    terminal: String,
    page: String,
    json: Value,
}

impl Rendered {
    fn of(facts: &Facts) -> Self {
        let style = Style { colour: false, width: 160 };
        let explained = advise::Explained::of(facts);
        Self {
            terminal: table::render(facts, &[], Path::new("case"), style),
            page: html::of(facts),
            json: json::render(facts, &[], &explained, Path::new("case")),
        }
    }

    fn have<T>(&self, columns: &[Column<'_, T>]) {
        for column in columns {
            let id = column.id();
            assert!(id.is_empty() || has(&self.json, id), "the JSON document has no {id}");
            for head in column.terminal_head().into_iter().flatten() {
                assert!(self.terminal.contains(&head), "{id}: no {head} in {}", self.terminal);
            }
            // Why is a column only where some row says it.
            if let Some(head) = column.page_head().filter(|head| *head != "why") {
                assert!(self.page.contains(&format!(">{head}</th>")), "{id}: the page has no {head}");
            }
        }
    }
}

/// Whether there is such a field, in some entry of each list on the way.
fn has(json: &Value, id: &str) -> bool {
    match (json, id.split_once('/')) {
        (Value::Array(entries), _) => entries.iter().any(|entry| has(entry, id)),
        (_, Some((key, rest))) => json.get(key).is_some_and(|inner| has(inner, rest)),
        (_, None) => json.get(id).is_some(),
    }
}

#[test]
fn every_field_is_in_the_terminal_on_the_page_and_in_the_document() {
    let facts = facts();
    let rendered = Rendered::of(&facts);
    let evidence = &facts.evidence;
    rendered.have(&result_fields::arms(&facts, &[], true));
    rendered.have(&result_fields::effects(evidence, "effect").split_off(1));
    rendered.have(&result_fields::second_figure(evidence));
    rendered.have(&result_fields::pooled(&evidence.pooled[0]));
    rendered.have(&result_fields::law(evidence));
    rendered.have(&result_fields::search());
    rendered.have(&result_fields::sequences());
}

#[test]
fn the_legend_of_the_terminal_has_every_number_of_an_arm() {
    let facts = facts();
    let terminal = Rendered::of(&facts).terminal;
    let legend = terminal.split("\nEqual: ").nth(1).unwrap().to_lowercase();
    let legend = legend.split("\n\n").next().unwrap();
    for [over, title] in result_fields::arms(&facts, &[], true).iter().filter_map(Column::terminal_head) {
        let words = [over.as_str(), title.split(' ').next().unwrap()];
        let is_there = |word: &&str| !word.is_empty() && legend.contains(&word.to_lowercase());
        let is_named = ["arm", "why", ""].contains(&title.as_str());
        assert!(is_named || words.iter().any(is_there), "no {words:?} in {legend}");
    }
}

#[test]
fn an_effect_that_depends_on_another_factor_has_no_verdict_anywhere() {
    let facts = facts();
    let rendered = Rendered::of(&facts);
    let row = |name: &str| rendered.page.split(name).nth(1).unwrap().split("</tr>").next().unwrap();
    assert!(row(">turned: 2 against 1<").contains("depends on plain"), "{}", row(">turned: 2 against 1<"));
    let better = result_words::verdict(Verdict::Better);
    assert!(!row(">turned: 2 against 1<").contains(better) && row(">plain: 2 against 1<").contains(better));
    assert!(rendered.terminal.contains("depends on plain: see Interactions"), "{}", rendered.terminal);
}

#[test]
fn many_cpus_before_the_first_complete_block_share_a_row() {
    let mut facts = others::many(64);
    facts.evidence.trust = Trust::TooFew { blocks: 0, needed: 6 };
    facts.evidence.against_baseline.clear();
    facts.evidence.against_other_cpus.clear();
    let text = table::render(&facts, &[], Path::new("case"), Style { colour: false, width: 80 });
    assert!(text.contains("64 CPUs") && text.contains(" to ") && text.contains("CPUs 0-63"), "{text}");
}
