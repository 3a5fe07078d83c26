//! What a reader should know beside the answer, the same on the terminal and on the page.

use advise::network_paths::{UnequalEnds, unequal_ends};
use study::Facts;
use study::saturation::{self, Saturated};

use crate::number;

/// The notes of the evidence, what was not as asked, CPUs that had no time left for what was moved to them, and paths to load hosts of
/// which the ends are not alike.
pub fn of(facts: &Facts) -> Vec<String> {
    let mut notes = facts.evidence.notes.clone();
    notes.extend(saturation::of_housekeeping(facts).iter().map(saturated));
    notes.extend(unequal_ends(&facts.paths).iter().map(UnequalEnds::words));
    for words in facts.trials.iter().flat_map(|seen| &seen.trial.as_run.not_as_asked) {
        let note = format!("not as asked: {words}");
        if !notes.contains(&note) {
            notes.push(note);
        }
    }
    notes
}

fn saturated(saturated: &Saturated) -> String {
    format!(
        "housekeeping CPU {} was {} busy in '{}': what was moved there competes for it; add housekeeping CPUs (key housekeeping)",
        saturated.cpu,
        number::share(saturated.busy_share),
        saturated.arm
    )
}
