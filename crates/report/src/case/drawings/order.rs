//! The figure trial by trial in order of time, so that drift, slow phases and pauses can be seen.

use std::collections::BTreeMap;

use study::statistics::summary::median;
use study::{Facts, Trial};

use super::Kind;
use crate::svg::{self, Area, Scale, Side};
use crate::{Html, number};

const WIDTH: f64 = 1120.0;
const HEIGHT: f64 = 348.0;
const AREA: Area = Area { left: 64.0, top: 34.0, width: 1040.0, height: 266.0 };

/// Above this many trials the dots have no title of their own: the file would grow by a line each.
const MOST_WITH_TITLES: usize = 1000;

/// A pause between two trials that is longer than this many trials is marked.
const PAUSE_IN_TRIALS: f64 = 5.0;

/// What the drawing shows.
pub const TITLE: &str = "Every trial in order of time";

/// The trials whose figure is a number, in order of time, each with it.
pub fn with_figure(facts: &Facts) -> Vec<(&Trial, f64)> {
    let metric = &facts.evidence.metric;
    let trials = facts.trials.iter().filter_map(|s| Some((&s.trial, *s.trial.figures.get(metric)?)));
    trials.filter(|(_, v)| v.is_finite()).collect()
}

/// What the figure is counted in: its unit, else its name.
pub fn unit(facts: &Facts) -> &str {
    let evidence = &facts.evidence;
    if evidence.unit.is_empty() { &evidence.metric } else { &evidence.unit }
}

/// Draws the trials; `None` while none has a figure.
pub fn draw(facts: &Facts) -> Option<Html> {
    let trials = with_figure(facts);
    let values: Vec<f64> = trials.iter().map(|(_, v)| *v).collect();
    let (low, high) = (
        values.iter().copied().fold(f64::INFINITY, f64::min),
        values.iter().copied().fold(f64::NEG_INFINITY, f64::max),
    );
    if trials.is_empty() {
        return None;
    }
    let room = (high - low).max(high.abs() * 0.02) * 0.06;
    let x = Scale::linear((-0.5, trials.len() as f64 - 0.5), (AREA.left, AREA.right()));
    let y = Scale::linear((low - room, high + room), (AREA.bottom(), AREA.top));
    let unit = unit(facts);
    let description = "Blocks are shaded in turn; the line is the median of the pinned trials of each block.";
    Some(svg::drawing(WIDTH, HEIGHT, TITLE, description, |svg| {
        shade_blocks(svg, &trials, &x);
        svg::draw_axis(svg, AREA, &y, Side::Left, 6, unit);
        mark_pauses(svg, &trials, &x);
        draw_level(svg, facts, &trials, &x, &y);
        for (i, (trial, value)) in trials.iter().enumerate() {
            draw_trial(svg, facts, trial, (x.place(i as f64), y.place(*value)), trials.len(), unit);
        }
        svg::text(
            svg,
            "axis",
            (AREA.right(), AREA.bottom() + 34.0),
            "end",
            "trials in order of time, by block",
        );
    }))
}

/// First and last position of each block.
pub fn blocks(trials: &[(&Trial, f64)]) -> BTreeMap<usize, (usize, usize)> {
    let mut blocks: BTreeMap<usize, (usize, usize)> = BTreeMap::new();
    for (i, (trial, _)) in trials.iter().enumerate() {
        blocks.entry(trial.block).or_insert((i, i)).1 = i;
    }
    blocks
}

fn shade_blocks(svg: &mut Html, trials: &[(&Trial, f64)], x: &Scale) {
    let blocks = blocks(trials);
    let every = blocks.len().div_ceil(30).max(1);
    for (block, (first, last)) in &blocks {
        let (left, right) = (x.place(*first as f64 - 0.5), x.place(*last as f64 + 0.5));
        let class = if block % 2 == 0 { "block even" } else { "block" };
        svg::rectangle(svg, class, Area { left, width: right - left, ..AREA }, "");
        if block % every == 0 {
            svg::text(
                svg,
                "tick",
                ((left + right) / 2.0, AREA.bottom() + 16.0),
                "middle",
                &block.saturating_add(1).to_string(),
            );
        }
    }
}

/// Where the study stood still, as it was stopped and resumed, or the machine slept: the position before, and how long it was.
pub fn pauses(trials: &[(&Trial, f64)]) -> Vec<(usize, String)> {
    let lengths: Vec<f64> = trials.iter().map(|(t, _)| t.took_s).collect();
    let usual = median(&lengths).unwrap_or(0.0).max(0.1);
    let idle = |pair: &[(&Trial, f64)]| pair[1].0.began_unix_s - pair[0].0.began_unix_s - pair[0].0.took_s;
    let gaps = trials.windows(2).map(idle).enumerate();
    gaps.filter(|(_, idle)| *idle > PAUSE_IN_TRIALS * usual)
        .map(|(i, idle)| (i, format!("paused {}", number::duration(idle))))
        .collect()
}

fn mark_pauses(svg: &mut Html, trials: &[(&Trial, f64)], x: &Scale) {
    for (i, words) in pauses(trials) {
        let at = x.place(i as f64 + 0.5);
        svg::line(svg, "pause", (at, AREA.top), (at, AREA.bottom()));
        svg::text(svg, "tick", (at + 4.0, AREA.top + 12.0), "start", &words);
    }
}

/// The median of the pinned trials of each block that has any: its first and last position, and the median.
pub fn levels(facts: &Facts, trials: &[(&Trial, f64)]) -> Vec<(usize, usize, f64)> {
    let level = |(block, (first, last)): (usize, (usize, usize))| {
        let pinned: Vec<f64> = trials[first..=last]
            .iter()
            .filter(|(t, _)| t.block == block && kind_of(facts, t) == Kind::Pinned)
            .map(|(_, v)| *v)
            .collect();
        Some((first, last, median(&pinned)?))
    };
    blocks(trials).into_iter().filter_map(level).collect()
}

/// The levels as a stepped line.
fn draw_level(svg: &mut Html, facts: &Facts, trials: &[(&Trial, f64)], x: &Scale, y: &Scale) {
    for (first, last, level) in levels(facts, trials) {
        let at = y.place(level);
        svg::line(svg, "level", (x.place(first as f64 - 0.5), at), (x.place(last as f64 + 0.5), at));
    }
}

fn kind_of(facts: &Facts, trial: &Trial) -> Kind {
    let arm = facts.study.arms.iter().find(|a| a.name == trial.arm);
    arm.map_or(Kind::Pinned, |arm| Kind::of(arm, &facts.evidence))
}

/// One trial: shape and colour by what its arm is.
fn draw_trial(svg: &mut Html, facts: &Facts, trial: &Trial, at: (f64, f64), count: usize, unit: &str) {
    let kind = kind_of(facts, trial);
    let value = trial.figures.get(&facts.evidence.metric).copied().unwrap_or(f64::NAN);
    let title = match count <= MOST_WITH_TITLES {
        true => format!(
            "trial {:04}, block {}, {}: {} {unit}",
            trial.index,
            trial.block.saturating_add(1),
            trial.arm,
            number::figure(value)
        ),
        false => String::new(),
    };
    let radius = if count > 400 { 2.2 } else { 3.4 };
    marker(svg, kind, at, radius, &title);
}

/// A marker whose shape shows the kind without colour.
pub fn marker(svg: &mut Html, kind: Kind, (x, y): (f64, f64), r: f64, title: &str) {
    let class = format!("mark {}", kind.class());
    let r2 = r * 1.35;
    match kind {
        Kind::Pinned => svg::dot(svg, &class, (x, y), r * 0.85, title),
        Kind::Slow | Kind::Worse => {
            svg::path(svg, &class, &[(x, y + r2), (x - r2, y - r), (x + r2, y - r), (x, y + r2)], title)
        }
        Kind::Fast => {
            svg::path(svg, &class, &[(x, y - r2), (x - r2, y + r), (x + r2, y + r), (x, y - r2)], title)
        }
        Kind::Unpinned => {
            svg::path(svg, &class, &[(x, y - r2), (x + r2, y), (x, y + r2), (x - r2, y), (x, y - r2)], title);
        }
        Kind::Control => {
            let square = Area { left: x - r, top: y - r, width: 2.0 * r, height: 2.0 * r };
            svg::rectangle(svg, &class, square, title);
        }
    }
}
