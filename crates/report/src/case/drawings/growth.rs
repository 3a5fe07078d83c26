//! The scaling of the server: what was measured by its number of CPUs, the law with its band, and what ideal scaling would be.

use study::evidence::Growth;
use study::recipe::Fill;
use study::statistics::scaling::{Law, Scaling};
use study::{Direction, Facts};

use crate::svg::{self, Area, Scale, Side};
use crate::{Html, visible};

const WIDTH: f64 = 1120.0;
const HEIGHT: f64 = 430.0;
const AREA: Area = Area { left: 78.0, top: 34.0, width: 850.0, height: 346.0 };

/// Steps of the smooth line of the law between one CPU and the most.
const STEPS: u32 = 120;

/// Room above the highest that was measured or that the band reaches.
const HEADROOM: f64 = 1.12;

/// Style class of an order of filling; each has a dash of its own too.
pub fn class(fill: Fill) -> &'static str {
    match fill {
        Fill::CoresFirst => "fast",
        Fill::SiblingsFirst => "control",
        Fill::Spread => "unpinned",
    }
}

/// One order of filling.
struct Curve<'a> {
    fill: Fill,
    law: Option<&'a Scaling>,
    /// CPUs and what a trial did with them; a latency is turned over.
    trials: Vec<(f64, f64)>,
}

/// Draws all curves of a study; `None` when it does not scale its server, or nothing of it was measured.
pub fn draw(facts: &Facts) -> Option<Html> {
    let curves: Vec<Curve> = facts.evidence.growth.iter().map(|growth| read(facts, growth)).collect();
    let points = || curves.iter().flat_map(|curve| &curve.trials);
    points().next()?;
    let most = points().map(|(n, _)| *n).fold(1.0, f64::max);
    let banded = curves.iter().filter_map(|curve| curve.law).flat_map(|law| &law.curve).map(|at| at.x.high);
    let high = points().map(|(_, x)| *x).chain(banded).fold(0.0, f64::max) * HEADROOM;
    let x = Scale::linear((0.0, most), (AREA.left, AREA.right()));
    let y = Scale::linear((0.0, high), (AREA.bottom(), AREA.top));
    let description = "The table below has the numbers.";
    Some(svg::drawing(WIDTH, HEIGHT, "The figure by CPUs of the server", description, |svg| {
        svg::draw_axis(svg, AREA, &x, Side::Bottom, (most as usize).min(16), "CPUs of the server");
        svg::draw_axis(svg, AREA, &y, Side::Left, 6, &y_title(facts));
        curves.iter().filter_map(|curve| Some((curve, curve.law?))).for_each(|(curve, law)| {
            under(svg, class(curve.fill), law, (&x, &y), (most, high));
        });
        name_the_knees(svg, &curves, &x);
        curves.iter().for_each(|curve| over(svg, curve, (&x, &y), most));
        name_the_ends(svg, &curves, &y, most);
    }))
}

fn read<'a>(facts: &Facts, growth: &'a Growth) -> Curve<'a> {
    let mut trials = Vec::new();
    for arm in &facts.study.arms {
        let scale = arm.scale.filter(|scale| scale.fill == growth.fill);
        let (Some(scale), Some(summary)) = (scale, facts.evidence.arm(&arm.name)) else { continue };
        let usable = summary.by_block.iter().filter(|figure| figure.is_finite() && **figure > 0.0);
        trials.extend(usable.map(|figure| (scale.cpus as f64, turned(facts, *figure))));
    }
    Curve { fill: growth.fill, law: growth.law.as_ref(), trials }
}

/// The law is of what is done in a time: a latency is turned over, as for the fit.
fn turned(facts: &Facts, figure: f64) -> f64 {
    match facts.evidence.better {
        Direction::Higher => figure,
        Direction::Lower => 1.0 / figure,
    }
}

fn y_title(facts: &Facts) -> String {
    let evidence = &facts.evidence;
    let unit = if evidence.unit.is_empty() { &evidence.metric } else { &evidence.unit };
    match evidence.better {
        Direction::Higher => visible::one_line(unit).into_owned(),
        Direction::Lower => format!("1 / {}", visible::one_line(unit)),
    }
}

/// What lies under the points: the ideal line, the band and the knee.
fn under(svg: &mut Html, class: &str, law: &Scaling, (x, y): (&Scale, &Scale), (most, high): (f64, f64)) {
    let reaches = (high / law.g.value).min(most);
    let ideal = [(x.place(0.0), y.place(0.0)), (x.place(reaches), y.place(law.g.value * reaches))];
    svg::path(svg, "ideal", &ideal, "ideal: n CPUs do n times what one does");
    let upper = law.curve.iter().map(|at| (x.place(f64::from(at.n)), y.place(at.x.high)));
    let lower = law.curve.iter().rev().map(|at| (x.place(f64::from(at.n)), y.place(at.x.low)));
    let band: Vec<(f64, f64)> = upper.chain(lower).collect();
    svg::path(svg, &format!("law-band {class}"), &band, "band of the law at each number that was measured");
    if let Some(knee) = law.knee {
        let at = x.place(f64::from(knee));
        svg::line(svg, "pause", (at, AREA.top), (at, AREA.bottom()));
    }
}

/// The knees one above the other, since two curves may have theirs at the same number.
fn name_the_knees(svg: &mut Html, curves: &[Curve], x: &Scale) {
    let knees = curves.iter().filter_map(|curve| Some((curve.fill, curve.law?.knee?)));
    for (above, (fill, knee)) in knees.enumerate() {
        let at = (x.place(f64::from(knee)) + 5.0, AREA.bottom() - 6.0 - 15.0 * above as f64);
        svg::text(svg, &format!("tick {}", class(fill)), at, "start", &format!("knee {knee}"));
    }
}

/// The law's line and the trials.
fn over(svg: &mut Html, curve: &Curve, (x, y): (&Scale, &Scale), most: f64) {
    let class = class(curve.fill);
    if let Some(fitted) = curve.law {
        let law = Law { g: fitted.g.value, a: fitted.a.value, b: fitted.b.value };
        let at = |step: u32| 1.0 + (most - 1.0) * f64::from(step) / f64::from(STEPS);
        let line: Vec<(f64, f64)> = (0..=STEPS).map(at).map(|n| (x.place(n), y.place(law.at(n)))).collect();
        svg::path(svg, &format!("curve {class}"), &line, curve.fill.word());
    }
    for (n, figure) in &curve.trials {
        svg::dot(svg, &format!("dot {class}"), (x.place(*n), y.place(*figure)), 2.4, "");
    }
}

/// Names beside the right ends, pushed apart where they would touch.
fn name_the_ends(svg: &mut Html, curves: &[Curve], y: &Scale, most: f64) {
    let end = |curve: &Curve| {
        let law = curve.law.map(|law| Law { g: law.g.value, a: law.a.value, b: law.b.value }.at(most));
        law.or(curve.trials.last().map(|(_, figure)| *figure)).map(|figure| y.place(figure))
    };
    let mut ends: Vec<(f64, Fill)> =
        curves.iter().filter_map(|curve| Some((end(curve)?, curve.fill))).collect();
    ends.sort_by(|a, b| a.0.total_cmp(&b.0));
    let mut at = f64::NEG_INFINITY;
    for (end, fill) in ends {
        at = (end + 4.0).max(at + 15.0);
        svg::line(svg, "leader", (AREA.right(), end), (AREA.right() + 12.0, at - 4.0));
        svg::text(
            svg,
            &format!("tick strong {}", class(fill)),
            (AREA.right() + 16.0, at),
            "start",
            fill.word(),
        );
    }
}
