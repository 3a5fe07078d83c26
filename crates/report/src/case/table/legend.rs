//! What the words and columns of the table mean, what the study could have seen, and what unpinned really was.

use study::{Evidence, Facts, Role, Trust};

use super::effects::main_effects;
use super::page::Page;
use crate::case::headline::sentence_start;
use crate::case::locality_words;
use crate::case::result_fields::cpu_use;
use crate::case::result_words;
use crate::case::screening_words;
use crate::case::unpinned::{self, Unpinned};
use crate::number;

/// Prints it below the table.
pub(super) fn print(out: &mut Page, facts: &Facts) {
    let evidence = &facts.evidence;
    out.text.push('\n');
    let margin = number::share(evidence.precision.margin);
    let what = format!(
        "Equal: no difference above {margin}. Mean and sd are over trials; changes are compared within blocks. {}",
        result_words::intervals(evidence, &surprising(evidence))
    );
    out.paragraph("", &what);
    let sentences = visible_difference(evidence).into_iter().chain(cpu_use::legend(facts).map(String::from));
    sentences.for_each(|sentence| out.paragraph("", &sentence));
    for sentence in facts.screening.iter().flat_map(screening_words::sentences) {
        out.paragraph("", &sentence);
    }
    if let Some(sentence) = locality_words::sentence(facts) {
        out.paragraph("", &sentence);
    }
    let Some(unpinned) = unpinned::pool(evidence) else { return };
    if let Some(sentence) = where_it_ran(facts, &unpinned) {
        out.paragraph("", &sentence);
    }
    if let Some(why) = &unpinned.mixture {
        let name = sentence_start(evidence.baseline());
        out.paragraph("", &format!("{name} is a mixture, not a mean: {why}."));
    }
}

/// The comparisons that the text shows whose interval seems to say more than the verdict beside it.
fn surprising(evidence: &Evidence) -> Vec<String> {
    let contrasts = evidence.against_baseline.iter().chain(&evidence.against_other_cpus);
    let mut names = result_words::surprising_contrasts(evidence, contrasts);
    // Without interactions: of those the text has a sentence only where they are shown.
    names.extend(result_words::surprising_effects(evidence, main_effects(evidence)));
    for also in &evidence.also {
        let own = result_words::surprising_contrasts(evidence, &also.against_baseline);
        names.extend(own.into_iter().map(|name| format!("{}: {name}", also.metric)));
    }
    names
}

/// What undecided leaves open. Where no claim is made, nothing would have been.
fn visible_difference(evidence: &Evidence) -> Option<String> {
    let power = evidence.power.filter(|_| evidence.trust == Trust::Sound)?;
    Some(format!(
        "Differences of {} or more would have been seen (with a chance of 80 %); undecided means no more than that.",
        number::share(power.visible_share)
    ))
}

/// Which CPUs the kernel chose for a baseline that it may place; `None` of a pinned one, and where that was not observed.
fn where_it_ran(facts: &Facts, unpinned: &Unpinned) -> Option<String> {
    let baseline = facts.study.arms.iter().find(|arm| arm.role == Role::Baseline);
    if baseline.is_some_and(|arm| arm.placement.server_cpus.is_some()) {
        return None;
    }
    unpinned.cpus_in_words().map(|used| format!("The baseline ran {used}."))
}
