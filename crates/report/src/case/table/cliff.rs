//! Where the sequences of each arm break, and how long each kind of operation took in each part of them.

use study::Facts;
use study::evidence::{ArmCliff, PartTimes};

use super::columns::{Cell, Head, Row, Table, print as columns};
use super::page::Page;
use super::wrap::cut;
use crate::case::result_words;
use crate::visible;

/// Longest name of an arm, characters.
const LONGEST_NAME: usize = 40;

/// Prints what there is of it.
pub(super) fn print(out: &mut Page, facts: &Facts) {
    let cliffs = &facts.evidence.cliffs;
    if cliffs.is_empty() {
        return;
    }
    out.heading("Where it breaks");
    for cliff in cliffs {
        let words = result_words::cliff(cliff).join("; ");
        out.paragraph("  - ", &format!("{}: {words}.", visible::one_line(&cliff.arm)));
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
    let rows = cliffs.iter().flat_map(|cliff| cliff.parts.iter().map(|part| row(cliff, part)));
    let text = columns(&Table { heads, rows: rows.collect() }, out.style);
    out.text.push_str(&text);
}

fn row(cliff: &ArmCliff, part: &PartTimes) -> Row {
    let cells = vec![
        Cell::plain(cut(&visible::one_line(&cliff.arm), LONGEST_NAME)),
        Cell::plain(format!("{}, {}", part.phase.word(), part.kind.word())),
        Cell::plain(part.operations.to_string()),
        Cell::plain(result_words::ms(part.median_us)),
        Cell::plain(result_words::ms(part.max_us)),
    ];
    Row { cells, why: String::new() }
}
