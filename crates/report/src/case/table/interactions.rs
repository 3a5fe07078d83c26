//! How much one effect depends on the level of another factor.

use machine::wording::counted;
use study::Evidence;
use study::evidence::Effect;

use super::page::Page;
use crate::case::result_words;

/// Prints those that are shown, a sentence each, and how many are not.
pub(super) fn print(out: &mut Page, evidence: &Evidence) {
    let all: Vec<&Effect> = evidence.effects.iter().filter(|effect| effect.with.is_some()).collect();
    let shown: Vec<&&Effect> = all.iter().filter(|effect| effect.verdict.is_difference()).collect();
    if all.is_empty() {
        return;
    }
    let level = result_words::level(evidence);
    out.heading(&format!("Interactions: how much one effect depends on another factor [{level}]"));
    if shown.is_empty() {
        let many = all.len();
        return out.paragraph(
            "  ",
            &format!("none of {many} is shown; effects of factors may be added up as far as the trials show"),
        );
    }
    for sentence in shown.iter().filter_map(|effect| result_words::interaction(effect, &evidence.metric)) {
        out.paragraph("  - ", &format!("shown: {sentence}"));
    }
    match all.len() - shown.len() {
        0 => {}
        others => out.paragraph("  - ", &format!("not shown: {}", counted(others, "other"))),
    }
}
