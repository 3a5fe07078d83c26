//! The terminal table of a study: the answer, the figures, the controls, the findings, what to do next, and what is missing.

mod cliff;
pub(crate) mod columns;
mod controls;
mod effects;
mod findings;
mod interactions;
mod legend;
mod missing;
mod page;
mod rows;
mod search;
pub(crate) mod wrap;

use std::path::Path;

use advise::Finding;
use study::Facts;
use study::evidence::Outcome;

use crate::case::expectation_words;
use crate::case::headline::{self, Headline, Tone};
use crate::case::next_steps;
use crate::case::notes;
use crate::case::result_words;
pub use crate::terminal_style::Style;
use crate::visible;
use columns::{Cell, Colour};
use page::Page;
use wrap::wrap;

/// Renders the study of the case in `dir` for a terminal. Foreign text (names of commands, interrupts, threads) cannot drive the
/// terminal.
pub fn render(facts: &Facts, findings: &[Finding], dir: &Path, style: Style) -> String {
    let style = Style { width: style.width.clamp(60, 160), ..style };
    let mut out = Page { style, text: String::new() };
    out.answer(&headline::read(facts, findings));
    out.expectations(facts);
    if !facts.evidence.arms.is_empty() {
        out.what_is_measured(facts);
        out.text.push_str(&columns::print(&rows::read(facts, findings, style.width), style));
        legend::print(&mut out, facts);
        cliff::print(&mut out, facts);
        effects::print(&mut out, facts);
        search::print(&mut out, facts);
        controls::print(&mut out, facts);
    }
    findings::print(&mut out, facts, findings, dir);
    out.notes(facts);
    out.next_steps(facts, findings, dir);
    missing::print(&mut out, facts);
    out.text
}

impl Page {
    fn answer(&mut self, headline: &Headline) {
        let colour = match headline.tone {
            Tone::Slow | Tone::NoClaim => Colour::Worse,
            Tone::Even => Colour::Better,
            Tone::Undecided => Colour::Bold,
        };
        for line in wrap(&visible::one_line(&headline.title), self.style.width) {
            self.text.push_str(&Cell::coloured(line, colour).painted(self.style));
            self.text.push('\n');
        }
        headline.points.iter().for_each(|point| self.paragraph("- ", point));
        self.paragraph("", &headline.sure);
    }

    fn expectations(&mut self, facts: &Facts) {
        if facts.evidence.expectations.is_empty() {
            return;
        }
        self.heading("Expected");
        for judged in &facts.evidence.expectations {
            let (word, colour) = match judged.outcome {
                Outcome::Passed => ("passed", Colour::Better),
                Outcome::Failed => ("FAILED", Colour::Worse),
                Outcome::CannotTell { .. } => ("cannot tell", Colour::Bold),
            };
            let first = format!("  {word:<11}  ");
            let painted = Cell::coloured(&first, colour).painted(self.style);
            let at = self.text.len();
            self.paragraph(&first, &expectation_words::judged(judged, facts));
            // Painted after the lines were broken, whose width is that of what is seen.
            self.text.replace_range(at..at + first.len(), &painted);
        }
    }

    fn what_is_measured(&mut self, facts: &Facts) {
        let evidence = &facts.evidence;
        let figure = result_words::figure(&evidence.metric, &evidence.unit, evidence.better);
        self.heading(&visible::one_line(&figure));
    }

    fn notes(&mut self, facts: &Facts) {
        let notes = notes::of(facts);
        if !notes.is_empty() {
            self.heading("Notes");
            notes.iter().for_each(|note| self.paragraph("  - ", note));
        }
    }

    fn next_steps(&mut self, facts: &Facts, findings: &[Finding], dir: &Path) {
        self.heading("Next");
        for line in next_steps::lines(&advise::next_steps(facts, findings), dir) {
            self.paragraph("  ", &line.why);
            // Not broken into lines, so that it can be copied.
            if let Some(command) = &line.command {
                self.text.push_str(&format!("     $ {}\n", visible::one_line(command)));
            }
        }
    }
}
