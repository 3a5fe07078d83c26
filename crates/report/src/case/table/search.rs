//! What a search tried, what it left, and which placements come next to its winner.

use study::Facts;
use study::case::search_log::Found;

use super::columns;
use super::page::Page;
use crate::case::result_fields;
use crate::case::result_words;

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
    out.heading("Closest to the winner, as the search's model expects (no claim)");
    let listed = &found.ran[..found.ran.len().min(LISTED)];
    let text = columns::print(&result_fields::in_terminal(&result_fields::search(), listed), out.style);
    out.text.push_str(&text);
    if found.ran.len() > LISTED {
        out.paragraph("  ", &format!("and {} more that are not ruled out", found.ran.len() - LISTED));
    }
}
