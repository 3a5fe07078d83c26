//! Where the sequences of each arm break, and how long each kind of operation took in each part of them.

use study::Facts;

use super::columns;
use super::page::Page;
use crate::case::result_fields::{self, Part};
use crate::case::result_words;
use crate::visible;

/// Prints what there is of it.
pub(super) fn print(out: &mut Page, facts: &Facts) {
    let cliffs = &facts.evidence.cliffs;
    if cliffs.is_empty() {
        return;
    }
    out.heading("Where it breaks");
    for cliff in cliffs {
        let words = result_words::cliff(cliff).join("; ");
        let name = result_words::cliff_arm(cliff, &facts.evidence);
        out.paragraph("  - ", &format!("{}: {words}.", visible::one_line(&name)));
    }
    out.text.push('\n');
    let table = result_fields::in_terminal(&result_fields::sequences(), &Part::all(&facts.evidence));
    out.text.push_str(&columns::print(&table, out.style));
}
