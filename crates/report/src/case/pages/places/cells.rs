//! What is written into the cell of each CPU.

use std::collections::BTreeMap;

use machine::topology::cpus::Cpu;
use study::Facts;

use super::placements::Outcome;
use super::{Shown, words};
use crate::case::heat::shade;
use crate::map::picture::{Bar, CellNote, Overlay, Sign};
use crate::number;

/// The sign of an outcome; `None` where there is none to be told.
pub(super) fn sign(outcome: Outcome) -> Option<Sign> {
    match outcome {
        Outcome::Better => Some(Sign::Up),
        Outcome::Worse => Some(Sign::Down),
        Outcome::Equal => Some(Sign::Level),
        Outcome::CannotTell => Some(Sign::Open),
        Outcome::Elsewhere | Outcome::Starved | Outcome::Harmful => Some(Sign::Crossed),
        Outcome::Reference => Some(Sign::Origin),
        Outcome::NotCompared => None,
    }
}

/// The cells of the CPUs that are online.
pub(super) fn overlay(facts: &Facts, shown: &Shown, interrupts: Option<&BTreeMap<u32, f64>>) -> Overlay {
    let online = facts.machine.cpus.iter().filter(|cpu| cpu.online);
    let cells = online.map(|cpu| (cpu.id, note(facts, shown, cpu, interrupts))).collect();
    Overlay { cells, letters: shown.lettered.len() }
}

fn note(facts: &Facts, shown: &Shown, cpu: &Cpu, interrupts: Option<&BTreeMap<u32, f64>>) -> CellNote {
    let margin = facts.evidence.precision.margin;
    let own = shown.on(cpu.id);
    let (mut lines, mut title) = (Vec::new(), Vec::new());
    if let Some(tried) = own {
        let change = tried.own_contrast().map(|c| {
            format!(" {} against {}", number::change_with_interval(c.ratio, c.interval), c.reference)
        });
        title.push(format!(
            "the server there: {}{}",
            words::of_tried(tried, margin),
            change.unwrap_or_default()
        ));
        lines.extend(words::change(tried));
    }
    let letters: Vec<_> = shown.letters_on(cpu.id).collect();
    for (place, tried) in &letters {
        let result = words::change(tried).unwrap_or_else(|| words::outcome(tried.outcome, margin));
        title.push(format!("in {} {}: {result}", Overlay::letter(*place), tried.arm.title()));
    }
    let share = interrupts.map(|by_cpu| by_cpu.get(&cpu.id).copied());
    if let Some(share) = share {
        let words = share.map_or("?".into(), number::share);
        lines.push(format!("irq {words}"));
        title.push(match share {
            Some(_) => format!("interrupts take {words} of its time"),
            None => "what interrupts take of it is not known".into(),
        });
    }
    let is_best = own
        .into_iter()
        .chain(letters.iter().map(|(_, tried)| *tried))
        .any(|tried| shown.placements.is_best(tried));
    CellNote {
        sign: own.and_then(|tried| sign(tried.outcome)),
        is_best,
        lines,
        letters: letters.iter().filter_map(|(place, tried)| Some((*place, sign(tried.outcome)?))).collect(),
        bar: share.flatten().map(|share| Bar { share, shade: shade(share) }),
        title: title.join("; "),
    }
}
