//! The pictures of a case as data: its trials, its latency curves, its sequences of operations.

use std::collections::BTreeMap;

use load::Operation;
use serde::Serialize;
use study::Facts;
use study::evidence::ArmCliff;

use super::fall::Fall;
use super::plot::{Axis, Marks, Note, Plot, Series, Spread};
use crate::CaseView;
use crate::case::drawings::{Kind, cliff, curves, explained, order};
use crate::case::explanation_words::shown_terms;
use crate::case::result_words;

/// Id of the picture of all trials.
pub(crate) const TRIALS: &str = "trials";

/// Id of the picture of latency curves.
pub(crate) const LATENCY: &str = "latency";

/// Id of the picture of a trial's operations.
pub(crate) fn sequence(trial: usize) -> String {
    format!("operations-{trial}")
}

#[derive(Serialize)]
struct Data {
    plots: Vec<Plot>,
    falls: Vec<Fall>,
}

/// All pictures that have points or steps, as JSON; `None` where none has.
pub(crate) fn data(case: &CaseView) -> Option<String> {
    let sequences = case.facts.evidence.cliffs.iter().filter_map(|cliff| operations(case, cliff));
    let plots: Vec<Plot> =
        [trials(case.facts), latency(case)].into_iter().flatten().chain(sequences).collect();
    let falls = falls(case);
    let has_any = !plots.is_empty() || !falls.is_empty();
    has_any.then(|| serde_json::to_string(&Data { plots, falls }).ok()).flatten()
}

/// The waterfalls of the explanations.
fn falls(case: &CaseView) -> Vec<Fall> {
    let alike = explained::alike(&case.explained.explanations, case.facts).into_iter().enumerate();
    let drawn = alike.map(|(place, of)| (explained::id(place), explained::waterfall(of, &shown_terms(of))));
    drawn.filter_map(|(id, waterfall)| Fall::of(id, waterfall)).collect()
}

/// Every trial by its number, with the blocks, their levels, and the pauses of the static drawing.
fn trials(facts: &Facts) -> Option<Plot> {
    let trials = order::with_figure(facts);
    let mut by_arm: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for (trial, value) in &trials {
        by_arm.entry(&trial.arm).or_default().push((trial.index as f64, *value));
    }
    let mut series = Vec::new();
    for arm in &facts.study.arms {
        let points = by_arm.remove(arm.name.as_str()).unwrap_or_default();
        series.push(Series::new(&arm.name, Kind::of(arm, &facts.evidence).class(), points));
    }
    // Trials of an arm that the study does not know.
    series.extend(by_arm.into_iter().map(|(arm, points)| Series::new(arm, Kind::Pinned.class(), points)));
    let axes = (Axis::new("trial", Spread::Linear), Axis::new(order::unit(facts), Spread::Linear));
    let mut plot = Plot::new(TRIALS, order::TITLE, Marks::Dots, axes, series)?;
    let number = |place: usize| trials.get(place).map_or(0.0, |(trial, _)| trial.index as f64);
    let stretch = |first: usize, last: usize| [number(first) - 0.5, number(last) + 0.5];
    let shaded = order::blocks(&trials).into_iter().filter(|(block, _)| block % 2 == 0);
    plot.bands = shaded.map(|(_, (first, last))| stretch(first, last)).collect();
    let levels = order::levels(facts, &trials).into_iter();
    plot.levels = levels
        .map(|(first, last, level)| {
            let [from, to] = stretch(first, last);
            [from, to, level]
        })
        .collect();
    let pauses = order::pauses(&trials).into_iter();
    plot.notes = pauses.map(|(place, words)| Note::new(number(place) + 0.5, &words)).collect();
    Some(plot)
}

/// The curves with all of their points.
fn latency(case: &CaseView) -> Option<Plot> {
    let curves = curves::of(case.facts, &case.latency).into_iter();
    let series = curves.map(|curve| Series::new(curve.name, curve.kind.class(), curve.points)).collect();
    let axes = (Axis::new("share of requests, %", Spread::Nines), Axis::new("latency, us", Spread::Log));
    Plot::new(LATENCY, curves::TITLE, Marks::Line, axes, series)
}

/// Every operation of the trial that is shown of an arm.
fn operations(case: &CaseView, of: &ArmCliff) -> Option<Plot> {
    let operations = case.operations.get(&of.shown)?;
    let point = |operation: &Operation| (operation.number as f64 + 1.0, operation.took_us as f64 / 1e3);
    let series = cliff::KINDS.map(|kind| {
        let own = operations.iter().filter(|operation| operation.kind == kind);
        Series::new(kind.word(), cliff::class(kind), own.map(point))
    });
    let title = cliff::title(&result_words::cliff_arm(of, &case.facts.evidence));
    let axes = (Axis::new("operation", Spread::Linear), Axis::new("ms", Spread::Log));
    let mut plot = Plot::new(&sequence(of.shown), &title, Marks::Dots, axes, series.into())?;
    let broke = cliff::break_of(case.facts, of.shown);
    let note = |broke| Note::new(cliff::place_of(broke), &cliff::words(broke));
    plot.notes = broke.map(note).into_iter().collect();
    Some(plot)
}
