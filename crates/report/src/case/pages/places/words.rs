//! What the picture of the machine says, in words.

use std::collections::BTreeMap;

use study::evidence::Whose;
use study::{Facts, Role, Verdict};

use super::Shown;
use super::placements::{Outcome, Tried};
use crate::case::headline::sentence_start;
use crate::case::heat::interrupt_share::Unknown;
use crate::case::result_words;
use crate::number;

/// What came of a placement.
pub(super) fn outcome(outcome: Outcome, margin: f64) -> String {
    match outcome {
        Outcome::Better => Verdict::Better.word(margin),
        Outcome::Worse => Verdict::Worse.word(margin),
        Outcome::Equal => Verdict::Equal.word(margin),
        Outcome::CannotTell => "cannot tell".into(),
        Outcome::Elsewhere => "the server ran elsewhere".into(),
        Outcome::Starved => "no request was answered".into(),
        Outcome::Harmful => "harmful: a guard ended it".into(),
        Outcome::Reference => "the reference".into(),
        Outcome::NotCompared => "not compared".into(),
    }
}

/// What came of this one, with whose loss it is where that is not the server's. What is no claim has the word of the other tables.
pub(super) fn of_tried(tried: &Tried, margin: f64) -> String {
    let words = outcome(tried.outcome, margin);
    let Some(contrast) = tried.contrast else { return words };
    match (tried.outcome, contrast.whose) {
        (Outcome::CannotTell, _) => result_words::verdict(contrast.verdict).into(),
        (Outcome::Worse, Some(Whose::Load)) => format!("{words}, and the load loses the time"),
        (Outcome::Worse, Some(Whose::Inseparable)) => {
            format!("{words}, and the trials do not show whether the server or the load loses the time")
        }
        _ => words,
    }
}

/// The change as a cell has it, in brackets where it is no claim; `None` where there is none of that placement.
pub(super) fn change(tried: &Tried) -> Option<String> {
    let change = number::change(tried.own_contrast()?.ratio);
    Some(if tried.outcome == Outcome::CannotTell { format!("({change})") } else { change })
}

/// What stands below the picture.
pub(super) fn caption(
    facts: &Facts,
    shown: &Shown,
    interrupts: &Result<BTreeMap<u32, f64>, Unknown>,
) -> String {
    let mut sentences = Vec::new();
    let placements = shown.placements;
    let baseline = facts.evidence.baseline();
    if placements.is_empty() {
        sentences
            .push("No arm names CPUs for the server as a whole, so there is no result of a CPU.".to_string());
    }
    let own = placements.cpus.iter().filter_map(|(_, tried)| tried.own_contrast());
    let reference = own.map(|of| &of.reference).next();
    if let Some(reference) = reference {
        sentences.push(format!(
            "Sign and number of a CPU: the figure with the server there against {reference}, in brackets where it is no claim."
        ));
    }
    if !shown.lettered.is_empty() {
        sentences.push(format!("Letters are the placements in the table below, against {baseline}."));
    }
    let left_out = placements.sets.len().saturating_sub(shown.lettered.len());
    if left_out > 0 {
        let placements = number::counted(left_out, "further placement");
        let have = if left_out == 1 { "has" } else { "have" };
        sentences.push(format!("{placements} of the study {have} no letter."));
    }
    sentences.extend(not_drawn(facts, shown));
    sentences.extend(best(shown, baseline));
    sentences.extend(of_interrupts(facts, interrupts));
    sentences.join(" ")
}

/// Arms that are compared beside the placements, and have no place in the picture.
fn not_drawn(facts: &Facts, shown: &Shown) -> Option<String> {
    let candidates = facts.study.arms.iter().filter(|arm| arm.role == Role::Candidate);
    let without = candidates.filter(|arm| arm.placement.server_cpus.is_none()).count();
    (without > 0 && !shown.placements.is_empty()).then(|| {
        format!("Not drawn, because no CPUs are named for the server: {}.", number::counted(without, "arm"))
    })
}

fn best(shown: &Shown, baseline: &str) -> Option<String> {
    let placements = shown.placements;
    let Some(best) = placements.best else {
        if placements.better > 0 && !placements.is_empty() {
            return Some(format!("What gains most over {baseline} is not drawn, so nothing has a star."));
        }
        let are_judged = placements.all().any(|tried| tried.outcome.has_figure());
        let none = are_judged && placements.better == 0;
        return none.then(|| format!("No placement is shown to be better than {baseline}."));
    };
    let most = match placements.better {
        1 => "the only one that is shown to be better".to_string(),
        n => format!(
            "the largest gain of the {n} that are shown to be better (whether it is better than the others of them is not tested)"
        ),
    };
    let change = number::change_with_interval(best.ratio, best.interval);
    Some(format!(
        "The star marks {}: {change} against {}, {most}.",
        sentence_start(&best.arm),
        best.reference
    ))
}

fn of_interrupts(facts: &Facts, interrupts: &Result<BTreeMap<u32, f64>, Unknown>) -> Vec<String> {
    match interrupts {
        Err(Unknown::NotObserved) => vec![
            "What interrupts take of each CPU is not shown: no trial has an observation.".to_string(),
        ],
        Err(Unknown::NotRead) => vec![
            "What interrupts take of each CPU is not shown: the observations do not have irq and softirq of /proc/stat.".to_string(),
        ],
        Ok(_) => {
            let what = "The bar at the lower edge of a CPU is the share of its time that interrupts and softirqs take (/proc/stat, median \
                        over all trials, wherever the server ran in them).";
            let caveat = match facts.machine.kernel.irq_time_accounting {
                Some(true) => None,
                Some(false) => Some(
                    "This kernel samples that time at ticks (IRQ_TIME_ACCOUNTING is off), so the shares can be too low.",
                ),
                None => Some(
                    "Whether this kernel samples that time at ticks (IRQ_TIME_ACCOUNTING) is not known; if it does, the shares can be too low.",
                ),
            };
            std::iter::once(what).chain(caveat).map(String::from).collect()
        }
    }
}
