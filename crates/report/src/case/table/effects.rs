//! What each level of several factors does, how they work together, figures that decide nothing, and what the looks found.

use std::collections::BTreeSet;

use study::evidence::{AlsoCompared, Effect, Growth, Pooled};
use study::statistics::scaling::{At, FEWEST_SIZES};
use study::{Contrast, Evidence, Facts, Verdict};

use super::columns::{Cell, Colour, Head, Row, Table, print as columns};
use super::interactions;
use super::page::Page;
use crate::case::result_words;
use crate::{number, visible};

/// Prints what there is of them.
pub(super) fn print(out: &mut Page, facts: &Facts) {
    let evidence = &facts.evidence;
    main_effects(out, evidence);
    interactions::print(out, evidence);
    evidence.growth.iter().for_each(|growth| scaling(out, facts, growth));
    evidence.also.iter().for_each(|also| other_figure(out, evidence, also));
    evidence.pooled.iter().for_each(|pooled| over_all_requests(out, pooled));
    looks(out, evidence);
}

fn main_effects(out: &mut Page, evidence: &Evidence) {
    let main: Vec<&Effect> = evidence.effects.iter().filter(|effect| effect.with.is_none()).collect();
    if main.is_empty() {
        return;
    }
    out.heading("Effects, each averaged over the levels of the other factors");
    let rows = main.iter().map(|effect| main_effect(effect, &evidence.effects));
    table(out, evidence, "level", rows.collect());
}

/// One effect; without a verdict where it has another sign at other levels of another factor.
fn main_effect(effect: &Effect, all: &[Effect]) -> Row {
    let row = row(&result_words::effect(effect), effect.ratio, effect.interval, effect.verdict);
    match interactions::turned_by(effect, all) {
        factors if factors.is_empty() => row,
        factors => {
            let cells = row.cells.into_iter().take(2).chain([Cell::plain("")]).collect();
            Row { cells, why: format!("depends on {}: see Interactions", factors.join(" and ")) }
        }
    }
}

fn table(out: &mut Page, evidence: &Evidence, what: &str, rows: Vec<Row>) {
    let level = number::share(1.0 - evidence.precision.alpha);
    let head = |name: &str, right| Head { over: String::new(), name: name.into(), right };
    let heads = vec![head(what, false), head(&format!("change [{level}]"), true), head("", false)];
    let text = columns(&Table { heads, rows }, out.style);
    out.text.push_str(&text);
}

fn row(name: &str, ratio: f64, interval: Option<(f64, f64)>, verdict: Verdict) -> Row {
    let colour = match verdict {
        Verdict::Better => Colour::Better,
        Verdict::Worse => Colour::Worse,
        _ => Colour::Plain,
    };
    let cells = vec![
        Cell::plain(visible::one_line(name)),
        Cell::plain(number::change_with_interval(ratio, interval)),
        Cell::coloured(result_words::verdict(verdict), colour),
    ];
    Row { cells, why: String::new() }
}

/// The law, what is left of each CPU, and where more of them stop paying.
fn scaling(out: &mut Page, facts: &Facts, growth: &Growth) {
    let Some(law) = &growth.law else { return no_curve(out, facts, growth) };
    out.heading(&scaling_title(growth));
    let level = number::share(1.0 - facts.evidence.precision.alpha);
    let head = |name: String| Head { over: String::new(), name, right: true };
    let heads = vec![
        head("CPUs".into()),
        head("measured".into()),
        head(format!("by the law [{level}]")),
        head("left of each CPU".into()),
    ];
    let row = |at: &At| Row {
        cells: vec![
            Cell::plain(at.n.to_string()),
            Cell::plain(number::figure(at.measured)),
            Cell::plain(result_words::estimate(&at.x, number::figure)),
            Cell::plain(number::share(at.efficiency.value)),
        ],
        why: String::new(),
    };
    let text = columns(&Table { heads, rows: law.curve.iter().map(row).collect() }, out.style);
    out.text.push_str(&text);
    out.paragraph("  ", &result_words::knee_and_peak(law));
}

fn scaling_title(growth: &Growth) -> String {
    format!("Scaling of the server (order of its CPUs: {})", growth.fill.word())
}

/// Why there is no curve; nothing where the machine has too few CPUs for any.
fn no_curve(out: &mut Page, facts: &Facts, growth: &Growth) {
    if facts.machine.usable().len() < FEWEST_SIZES {
        return;
    }
    let scales =
        facts.study.arms.iter().filter_map(|arm| arm.scale).filter(|scale| scale.fill == growth.fill);
    let sizes = scales.map(|scale| scale.cpus).collect::<BTreeSet<usize>>().len();
    let why = match growth.why.as_deref() {
        _ if sizes < FEWEST_SIZES => {
            format!("it takes at least {FEWEST_SIZES} different numbers of CPUs, and this study has {sizes}")
        }
        Some(why) => why.to_string(),
        None => "it was not fitted".into(),
    };
    out.heading(&scaling_title(growth));
    out.paragraph("  ", &format!("No scaling curve: {why}."));
}

fn other_figure(out: &mut Page, evidence: &Evidence, also: &AlsoCompared) {
    out.heading(&visible::one_line(&result_words::second_figure(also)));
    if also.against_baseline.is_empty() {
        return out.paragraph("  ", "no complete block has it");
    }
    table(out, evidence, "arm", also.against_baseline.iter().map(second).collect());
}

/// A row without colour, which is for what decides.
fn second(contrast: &Contrast) -> Row {
    let cells = vec![
        Cell::plain(visible::one_line(&contrast.arm)),
        Cell::plain(number::change_with_interval(contrast.ratio, contrast.interval)),
        Cell::plain(result_words::verdict(contrast.verdict)),
    ];
    Row { cells, why: String::new() }
}

/// What the slowest of all requests together took; the words say what it is not.
fn over_all_requests(out: &mut Page, pooled: &Pooled) {
    out.heading(&visible::one_line(&result_words::pooled_figure(pooled)));
    if !pooled.against_baseline.is_empty() {
        let head = |name: &str, right| Head { over: String::new(), name: name.into(), right };
        let level = number::share(pooled.level);
        let heads =
            vec![head("arm", false), head("us", true), head(&format!("change [{level}, bootstrap]"), true)];
        let rows = pooled.against_baseline.iter().map(|ratio| Row {
            cells: vec![
                Cell::plain(visible::one_line(&ratio.arm)),
                Cell::plain(number::figure(ratio.arm_us)),
                Cell::plain(number::change_with_interval(ratio.ratio, ratio.interval)),
            ],
            why: String::new(),
        });
        let text = columns(&Table { heads, rows: rows.collect() }, out.style);
        out.text.push_str(&text);
    }
    result_words::pooled(pooled).iter().for_each(|words| out.paragraph("  ", words));
}

/// Only where looks were asked for: one at the end is no news.
fn looks(out: &mut Page, evidence: &Evidence) {
    if evidence.looks.len() < 2 {
        return;
    }
    out.heading("Looks");
    for look in &evidence.looks {
        let what = match (look.undecided, look.ended) {
            (0, true) => "everything is decided".to_string(),
            (0, false) => "the controls do not allow a claim yet: it goes on".to_string(),
            (1, true) => "1 comparison is not decided, and this was the last look".into(),
            (1, false) => "1 comparison is not decided: it goes on".into(),
            (n, true) => format!("{n} comparisons are not decided, and this was the last look"),
            (n, false) => format!("{n} comparisons are not decided: it goes on"),
        };
        // The level of an early look is far below a per cent.
        let level = format!("{:.1} %", look.alpha * 1e2);
        out.paragraph("  ", &format!("after {} blocks, at {level}: {what}", look.blocks));
    }
}
