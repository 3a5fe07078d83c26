//! What a search tried, what it left, and which placements come next to its winner.

use study::Facts;
use study::case::search_log::Found;

use super::columns::{Cell, Head, Row, Table, print as columns};
use super::page::Page;
use crate::case::result_words;
use crate::{number, visible};

/// How many placements are listed.
const LISTED: usize = 8;

/// Prints what there is of it.
pub(super) fn print(out: &mut Page, facts: &Facts) {
    let Some(found) = &facts.evidence.search else { return };
    out.heading("Search");
    result_words::search(facts, found).iter().for_each(|words| out.paragraph("  - ", words));
    if found.ran.len() > 1 {
        next_to_the_winner(out, found);
    }
}

fn next_to_the_winner(out: &mut Page, found: &Found) {
    out.heading("Next to the winner, as the search's model expects (no claim)");
    let head = |name: &str, right| Head { over: String::new(), name: name.into(), right };
    let heads = vec![head("placement", false), head("trials", true), head("against the winner", true)];
    let rows = found.ran.iter().take(LISTED).map(|ran| Row {
        cells: vec![
            Cell::plain(visible::one_line(&ran.arm)),
            Cell::plain(ran.trials.to_string()),
            Cell::plain(number::change(ran.to_winner)),
        ],
        why: String::new(),
    });
    let text = columns(&Table { heads, rows: rows.collect() }, out.style);
    out.text.push_str(&text);
    if found.ran.len() > LISTED {
        out.paragraph("  ", &format!("and {} more that are not out", found.ran.len() - LISTED));
    }
}
