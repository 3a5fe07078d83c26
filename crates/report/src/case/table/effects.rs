//! What each level of several factors does, how they work together, figures that decide nothing, and what the looks found.

use study::evidence::{AlsoCompared, Effect, Growth, Pooled};
use study::statistics::scaling::At;
use study::{Contrast, Evidence, Facts, Verdict};

use super::columns::{Cell, Colour, Head, Row, Table, print as columns};
use super::page::Page;
use super::wrap::cut;
use crate::case::result_words;
use crate::{number, visible};

/// Longest name of a level, characters.
const LONGEST_NAME: usize = 40;

/// Prints what there is of them.
pub(super) fn print(out: &mut Page, facts: &Facts) {
    let evidence = &facts.evidence;
    let (main, interactions): (Vec<&Effect>, Vec<&Effect>) =
        evidence.effects.iter().partition(|effect| effect.with.is_none());
    if !main.is_empty() {
        out.heading("Effects, each averaged over the levels of the other factors");
        let rows = main
            .iter()
            .map(|effect| row(&result_words::effect(effect), effect.ratio, effect.interval, effect.verdict));
        table(out, evidence, "level", rows.collect());
    }
    let seen: Vec<&&Effect> =
        interactions.iter().filter(|e| matches!(e.verdict, Verdict::Better | Verdict::Worse)).collect();
    if !interactions.is_empty() {
        out.heading("Interactions: by how much one effect changes with the other factor");
        if seen.is_empty() {
            let many = interactions.len();
            out.paragraph(
                "  ",
                &format!(
                    "none of {many} is shown; effects of factors may be added up as far as the trials show"
                ),
            );
        }
        let rows = seen
            .iter()
            .map(|effect| row(&result_words::effect(effect), effect.ratio, effect.interval, effect.verdict));
        if !seen.is_empty() {
            table(out, evidence, "together", rows.collect());
        }
    }
    evidence.growth.iter().for_each(|growth| scaling(out, evidence, growth));
    evidence.also.iter().for_each(|also| other_figure(out, evidence, also));
    evidence.pooled.iter().for_each(|pooled| over_all_requests(out, pooled));
    looks(out, evidence);
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
        Cell::plain(cut(&visible::one_line(name), LONGEST_NAME)),
        Cell::plain(number::change_with_interval(ratio, interval)),
        Cell::coloured(result_words::verdict(verdict), colour),
    ];
    Row { cells, why: String::new() }
}

/// The law, what is left of each CPU, and where more of them stop paying.
fn scaling(out: &mut Page, evidence: &Evidence, growth: &Growth) {
    out.heading(&format!("Scaling of the server, {}", growth.fill.word()));
    let Some(law) = &growth.law else {
        return out.paragraph("  ", growth.why.as_deref().unwrap_or("no curve"));
    };
    let level = number::share(1.0 - evidence.precision.alpha);
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

fn other_figure(out: &mut Page, evidence: &Evidence, also: &AlsoCompared) {
    let unit = if also.unit.is_empty() { String::new() } else { format!(", {}", also.unit) };
    out.heading(&visible::one_line(&format!("{}{unit} (decides nothing)", also.metric)));
    if also.against_baseline.is_empty() {
        return out.paragraph("  ", "no complete block has it");
    }
    let of = |c: &Contrast| row(&c.arm, c.ratio, c.interval, c.verdict);
    table(out, evidence, "server", also.against_baseline.iter().map(of).collect());
}

/// What the slowest of all requests together took; the words say what it is not.
fn over_all_requests(out: &mut Page, pooled: &Pooled) {
    out.heading(&visible::one_line(&format!(
        "{} over all requests of an arm (decides nothing)",
        pooled.metric
    )));
    if !pooled.against_baseline.is_empty() {
        let head = |name: &str, right| Head { over: String::new(), name: name.into(), right };
        let level = number::share(pooled.level);
        let heads = vec![
            head("server", false),
            head("us", true),
            head(&format!("change [{level}, bootstrap]"), true),
        ];
        let rows = pooled.against_baseline.iter().map(|ratio| Row {
            cells: vec![
                Cell::plain(cut(&visible::one_line(&ratio.arm), LONGEST_NAME)),
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
