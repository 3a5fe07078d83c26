//! Latency by percentile: one curve an arm, with room for the tail.

use std::collections::BTreeMap;

use study::Facts;

use super::Kind;
use crate::case::headline::sentence_start;
use crate::svg::{self, Area, Scale, Side};
use crate::{Html, number};

const WIDTH: f64 = 1120.0;
const HEIGHT: f64 = 430.0;
const AREA: Area = Area { left: 64.0, top: 34.0, width: 900.0, height: 346.0 };

/// Points that a curve needs at most; more cannot be distinguished.
const MOST_POINTS: usize = 80;

/// Curves that stand out and are named beside their end.
const MOST_NAMED: usize = 14;

/// Percentiles (0 to 100) and latencies, us.
type Points = Vec<(f64, f64)>;

/// One arm's curve.
pub struct Curve<'a> {
    /// The arm.
    pub name: &'a str,
    /// What it is to the reader.
    pub kind: Kind,
    /// At least two: percentiles (0 to 100) and latencies, us.
    pub points: Points,
}

/// What the drawing shows.
pub const TITLE: &str = "Latency by percentile for each arm";

/// The curves that have at least two points, in the order of the arms.
pub fn of<'a>(facts: &'a Facts, latency: &BTreeMap<String, Points>) -> Vec<Curve<'a>> {
    let curves = facts.study.arms.iter().filter_map(|arm| {
        let kind = Kind::of(arm, &facts.evidence);
        Some(Curve { name: &arm.name, kind, points: usable(latency.get(&arm.name)?) })
    });
    curves.filter(|curve| curve.points.len() >= 2).collect()
}

/// Draws the curves; `None` when there is none.
pub fn draw(facts: &Facts, latency: &BTreeMap<String, Points>) -> Option<Html> {
    let mut curves = of(facts, latency);
    // What stands out is drawn last, over the rest.
    curves.sort_by_key(|curve| std::cmp::Reverse(importance(curve.kind)));
    let points = || curves.iter().flat_map(|curve| curve.points.iter());
    points().next()?;
    let high = points().map(|p| p.0).fold(0.0, f64::max);
    let us = points().map(|p| p.1);
    let range = (us.clone().fold(f64::INFINITY, f64::min), us.fold(0.0, f64::max));
    let x = Scale::nines(high, (AREA.left, AREA.right()));
    let y = Scale::log(range, (AREA.bottom(), AREA.top));
    Some(svg::drawing(
        WIDTH,
        HEIGHT,
        TITLE,
        "Both axes are logarithmic; the table below has the numbers.",
        |svg| {
            svg::draw_axis(svg, AREA, &x, Side::Bottom, 6, "share of requests that were at most as slow");
            svg::draw_axis(svg, AREA, &y, Side::Left, 10, "latency, us (log)");
            for Curve { name, kind, points } in &curves {
                let placed: Points =
                    thinned(points).iter().map(|(p, us)| (x.place(*p), y.place(*us))).collect();
                svg::path(svg, &format!("curve {}", kind.class()), &placed, name);
            }
            name_the_ends(svg, &curves, &x, &y);
        },
    ))
}

/// Order of drawing: the lower, the later.
fn importance(kind: Kind) -> u8 {
    match kind {
        Kind::Slow | Kind::Worse => 0,
        Kind::Unpinned => 1,
        Kind::Fast => 2,
        Kind::Control => 3,
        Kind::Pinned => 4,
    }
}

/// Finite points in order, below 100 % where the axis ends.
fn usable(points: &Points) -> Points {
    let on_the_axes = |(p, us): &(f64, f64)| (0.0..100.0).contains(p) && us.is_finite() && *us > 0.0;
    points.iter().copied().filter(on_the_axes).collect()
}

/// At most [`MOST_POINTS`] of the points, both ends among them.
fn thinned(all: &Points) -> Points {
    let step = all.len().div_ceil(MOST_POINTS).max(1);
    let mut points: Points = all.iter().copied().step_by(step).collect();
    if let Some(last) = all.last().filter(|last| points.last() != Some(last)) {
        points.push(*last);
    }
    points
}

/// Names beside the right ends, pushed apart where they would touch; ordinary CPUs share one name.
fn name_the_ends(svg: &mut Html, curves: &[Curve], x: &Scale, y: &Scale) {
    let mut ends: Vec<(f64, f64, Kind, String)> = Vec::new();
    let mut ordinary: Vec<f64> = Vec::new();
    let few = curves.len() <= 6;
    for Curve { name, kind, points } in curves {
        let Some((p, us)) = points.last() else { continue };
        match kind {
            Kind::Pinned if !few => ordinary.push(y.place(*us)),
            _ => ends.push((y.place(*us), x.place(*p), *kind, sentence_start(name))),
        }
    }
    ends.sort_by_key(|(_, _, kind, _)| importance(*kind));
    ends.truncate(MOST_NAMED);
    if let Some(middle) = study::statistics::summary::median(&ordinary) {
        ends.push((
            middle,
            AREA.right(),
            Kind::Pinned,
            format!("{} other CPUs", number::count(ordinary.len())),
        ));
    }
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut at = f64::NEG_INFINITY;
    for (end_y, end_x, kind, name) in ends {
        at = (end_y + 4.0).max(at + 14.0);
        svg::line(svg, "leader", (end_x, end_y), (AREA.right() + 12.0, at - 4.0));
        let name: String = name.chars().take(24).collect();
        svg::text(svg, &format!("tick strong {}", kind.class()), (AREA.right() + 16.0, at), "start", &name);
    }
}
