//! What the controls of the study say.

use study::{Facts, Trust};

use super::page::Page;
use crate::case::control_words;

/// Columns of a control's name.
const NAME: usize = 23;

/// Prints them; whether claims may be made only where they may not.
pub(super) fn print(out: &mut Page, facts: &Facts) {
    let evidence = &facts.evidence;
    out.heading("Controls");
    let mut line = |name: &str, words: &str| out.paragraph(&format!("  {name:<NAME$}"), words);
    line("baseline, twice", &control_words::twice(evidence));
    let (name, words) = match &evidence.control {
        None => ("positive control", control_words::NOT_AVAILABLE.to_string()),
        Some(control) => (
            control_words::control_name(control),
            format!(
                "{} against {}: {}",
                control_words::control(control, evidence.better),
                control.contrast.reference,
                control_words::outcome(control, evidence)
            ),
        ),
    };
    line(name, &words);
    if evidence.trust != Trust::Sound {
        line("trust", &control_words::trust(evidence.trust));
    }
}
