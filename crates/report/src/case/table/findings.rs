//! The findings in words, below the table.

use std::path::Path;

use advise::{EvidenceLine, Finding, Standing};
use study::Facts;

use super::columns::{Cell, Colour};
use super::page::Page;
use super::wrap::wrap;
use crate::case::next_steps;
use crate::case::result_words;
use crate::display_width::{padded, width};
use crate::visible;

/// Prints all findings; says so where a slow CPU has none.
pub(super) fn print(page: &mut Page, facts: &Facts, findings: &[Finding], dir: &Path) {
    if findings.is_empty() && facts.evidence.slow_cpus().is_empty() {
        return;
    }
    page.heading("Findings");
    if findings.is_empty() {
        page.paragraph("  ", "None: no rule explains why some CPUs are slower than others.");
    }
    for (i, finding) in findings.iter().enumerate() {
        one(page, i + 1, finding, dir);
    }
}

fn one(page: &mut Page, number: usize, finding: &Finding, dir: &Path) {
    if number > 1 {
        page.text.push('\n');
    }
    let colour = if finding.standing <= Standing::Supported { Colour::Worse } else { Colour::Bold };
    let standing = Cell::coloured(format!("[{}]", finding.standing.word()), colour).painted(page.style);
    page.text.push_str(&format!("{number}. {} {standing}\n", visible::one_line(&finding.title)));
    page.paragraph("   ", &finding.claim);
    page.paragraph("   ", &finding.mechanism);
    evidence(page, finding);
    for (name, text) in result_words::parts(finding) {
        page.paragraph(&format!("   {name:<11}"), &text);
    }
    proof(page, finding, dir);
    // Commands are not broken into lines, so that they can be copied.
    for command in &finding.commands {
        page.text.push_str(&format!("     $ {}\n", visible::one_line(command)));
    }
}

fn evidence(page: &mut Page, finding: &Finding) {
    let slow = finding.cpu.map_or("here".to_string(), |cpu| format!("CPU {cpu}"));
    let rows: Vec<[String; 3]> = finding
        .evidence
        .iter()
        .map(|EvidenceLine { bad, good, unit, .. }| {
            [
                result_words::counter_value(*bad),
                result_words::counter_value(*good),
                visible::one_line(unit).into_owned(),
            ]
        })
        .collect();
    let Some(longest) = finding.evidence.iter().map(|l| width(&l.what)).max() else { return };
    let widest =
        |i: usize, head: &str| rows.iter().map(|r| width(&r[i])).chain([width(head)]).max().unwrap_or(0);
    let (bad, good, unit) = (widest(0, &slow), widest(1, "other CPUs"), widest(2, ""));
    let room = page.style.width.saturating_sub(3 + 2 + bad + 2 + good + 2 + unit);
    let what = longest.min(room.max(20));
    let head = format!("   {:what$}  {slow:>bad$}  {:>good$}", "", "other CPUs");
    page.text.push_str(&Cell::coloured(head, Colour::Dim).painted(page.style));
    page.text.push('\n');
    for (line, [of_bad, of_good, unit]) in finding.evidence.iter().zip(&rows) {
        let names = wrap(&visible::one_line(&line.what), what);
        page.text
            .push_str(&format!("   {}  {of_bad:>bad$}  {of_good:>good$}  {unit}\n", padded(&names[0], what)));
        names[1..].iter().for_each(|more| page.text.push_str(&format!("     {more}\n")));
    }
}

fn proof(page: &mut Page, finding: &Finding, dir: &Path) {
    for outcome in finding.proof.iter().flat_map(|p| &p.outcomes) {
        page.paragraph(
            "     - ",
            &format!("{} - {}", outcome.prediction.words, result_words::outcome_in_words(outcome)),
        );
    }
    if let (Some(intervention), None) = (&finding.intervention, &finding.proof) {
        page.paragraph("   to prove   ", &intervention.what);
        page.text.push_str(&format!("     $ {}\n", visible::one_line(&next_steps::prove_command(dir))));
    }
}
