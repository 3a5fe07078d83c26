//! What each level of several factors does, how they work together, figures that decide nothing, and what the looks found.

use std::collections::BTreeSet;

use machine::wording::counted;
use study::evidence::{AlsoCompared, Effect, Growth, Pooled};
use study::statistics::scaling::FEWEST_SIZES;
use study::{Evidence, Facts};

use super::page::Page;
use super::{columns, interactions};
use crate::case::result_fields::{self, Column, Compared};
use crate::case::result_words;
use crate::visible;

/// Prints what there is of them.
pub(super) fn print(out: &mut Page, facts: &Facts) {
    let evidence = &facts.evidence;
    levels(out, evidence);
    interactions::print(out, evidence);
    evidence.growth.iter().for_each(|growth| scaling(out, facts, growth));
    evidence.also.iter().for_each(|also| other_figure(out, evidence, also));
    evidence.pooled.iter().for_each(|pooled| over_all_requests(out, pooled));
    looks(out, evidence);
}

/// The effects of single levels, without interactions.
pub(super) fn main_effects(evidence: &Evidence) -> impl Iterator<Item = &Effect> {
    evidence.effects.iter().filter(|effect| effect.with.is_none())
}

fn levels(out: &mut Page, evidence: &Evidence) {
    let mut main = main_effects(evidence).peekable();
    if main.peek().is_none() {
        return;
    }
    out.heading("Effects, each averaged over the levels of the other factors");
    let rows: Vec<Compared> = main.map(|effect| Compared::effect(effect, &evidence.effects)).collect();
    table(out, &result_fields::effects(evidence, "level"), &rows);
}

fn table<T>(out: &mut Page, fields: &[Column<'_, T>], rows: &[T]) {
    let text = columns::print(&result_fields::in_terminal(fields, rows), out.style);
    out.text.push_str(&text);
}

/// The law, what is left of each CPU, and where more of them stop paying.
fn scaling(out: &mut Page, facts: &Facts, growth: &Growth) {
    let Some(law) = &growth.law else { return no_curve(out, facts, growth) };
    out.heading(&scaling_title(growth));
    table(out, &result_fields::law(&facts.evidence), &law.curve);
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
    let rows: Vec<Compared> = also.against_baseline.iter().map(Compared::second).collect();
    table(out, &result_fields::second_figure(evidence), &rows);
}

/// What the slowest of all requests together took; the words say what it is not.
fn over_all_requests(out: &mut Page, pooled: &Pooled) {
    out.heading(&visible::one_line(&result_words::pooled_figure(pooled)));
    if !pooled.against_baseline.is_empty() {
        table(out, &result_fields::pooled(pooled), &pooled.against_baseline);
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
        let blocks = counted(look.blocks, "block");
        out.paragraph("  ", &format!("after {blocks}, at {level}: {what}"));
    }
}
