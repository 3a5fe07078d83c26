//! Where the sequences of each arm break, and how long each kind of operation took in each part of them.

use study::Facts;
use study::evidence::{ArmCliff, PartTimes};

use super::columns::{Cell, Head, Row, Table, print as columns};
use super::page::Page;
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
    let head = |name: &str, right| Head { over: String::new(), name: name.into(), right };
    let heads = vec![
        head("arm", false),
        head("part", false),
        head("operations", true),
        head("median", true),
        head("longest", true),
    ];
    let rows = cliffs.iter().flat_map(|cliff| {
        let name = result_words::cliff_arm(cliff, &facts.evidence);
        let parts = cliff.parts.iter().enumerate();
        // The arm's name once.
        parts.map(move |(i, part)| row(cliff, part, if i == 0 { name.as_str() } else { "" }))
    });
    let text = columns(&Table { heads, rows: rows.collect() }, out.style);
    out.text.push_str(&text);
}

fn row(cliff: &ArmCliff, part: &PartTimes, name: &str) -> Row {
    let cells = vec![
        Cell::plain(visible::one_line(name)),
        Cell::plain(format!("{}, {}", part.phase.word(), part.kind.word())),
        Cell::plain(part.operations.to_string()),
        Cell::plain(median(cliff, part)),
        Cell::plain(result_words::ms(part.max_us)),
    ];
    Row { cells, why: String::new() }
}

/// The median, or of a part that breaks those before and from there on: one of all would say that nothing happened.
fn median(cliff: &ArmCliff, part: &PartTimes) -> String {
    match &cliff.breaks {
        Some(broke) if (broke.spot.kind, broke.spot.phase) == (part.kind, part.phase) => {
            let [before, after] = [broke.before_us, broke.after_us].map(result_words::ms);
            format!("{before}, then {after}")
        }
        _ => result_words::ms(part.median_us),
    }
}
