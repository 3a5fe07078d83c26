//! What the controls of the study say.

use study::Facts;

use super::page::Page;
use crate::case::control_words;

/// Columns of a control's name.
const NAME: usize = 23;

/// Prints them.
pub(super) fn print(out: &mut Page, facts: &Facts) {
    out.heading("Controls");
    for (name, words) in control_words::controls(&facts.evidence) {
        out.paragraph(&format!("  {name:<NAME$}"), &words);
    }
}
