//! A sequence of operations: the time of each on a logarithmic axis, and the time until the end of each.

use load::Operation;
use load::operations::{Kind, Phase};
use study::Facts;
use study::cliff::Break;

use crate::Html;
use crate::case::result_words;
use crate::svg::{self, Area, Scale, Side};

const WIDTH: f64 = 1120.0;
const BY_OPERATION: Area = Area { left: 70.0, top: 34.0, width: 1030.0, height: 270.0 };
const CUMULATIVE: Area = Area { left: 70.0, top: 34.0, width: 1030.0, height: 150.0 };

/// Below the area: ticks and the title of the axis.
const FOOT: f64 = 46.0;

/// More dots than this cannot be distinguished; of neighbours the slowest is drawn.
const MOST_DOTS: usize = 2_400;

/// What is drawn, in the order of the legend.
pub const KINDS: [Kind; 2] = [Kind::Put, Kind::Get];

/// Style class of a kind of operation.
pub fn class(kind: Kind) -> &'static str {
    match kind {
        Kind::Put => "slow",
        Kind::Get => "fast",
    }
}

/// What the drawing of an arm's operations shows.
pub fn title(arm: &str) -> String {
    format!("Time of each operation, {arm}")
}

/// Where the sequence of a trial breaks, by the trial's number; `None` where it does not.
pub fn break_of(facts: &Facts, trial: usize) -> Option<&Break> {
    facts.trials.iter().find(|seen| seen.trial.index == trial)?.trial.cliff.as_ref()?.breaks.as_ref()
}

/// The first operation that is slow, on the axis of operations.
pub fn place_of(broke: &Break) -> f64 {
    broke.place.operation as f64 + 1.0
}

/// The time of each operation.
pub fn by_operation(arm: &str, operations: &[Operation], broke: Option<&Break>) -> Html {
    let area = BY_OPERATION;
    let ms = |operation: &Operation| operation.took_us.max(1) as f64 / 1e3;
    let shown = thinned(operations);
    let all = || operations.iter().map(ms);
    let range = (all().fold(f64::INFINITY, f64::min), all().fold(0.0, f64::max));
    let (x, y) = (across(operations, area), Scale::log(range, (area.bottom(), area.top)));
    svg::drawing(
        WIDTH,
        area.bottom() + FOOT,
        &title(arm),
        "The table below has medians and the longest.",
        |svg| {
            svg::draw_axis(svg, area, &x, Side::Bottom, 12, "operation");
            svg::draw_axis(svg, area, &y, Side::Left, 7, "time of an operation, ms (log)");
            for operation in shown {
                let at = (x.place(operation.number as f64 + 1.0), y.place(ms(operation)));
                svg::dot(svg, &format!("dot {}", class(operation.kind)), at, 2.2, "");
            }
            if let Some(broke) = broke {
                mark(svg, area, x.place(place_of(broke)), &words(broke));
            }
        },
    )
}

/// The time from the beginning of the sequence to the end of each operation.
pub fn cumulative(arm: &str, operations: &[Operation], broke: Option<&Break>) -> Html {
    let area = CUMULATIVE;
    let done_s = |operation: &Operation| operation.begun_us.saturating_add(operation.took_us) as f64 / 1e6;
    let end_s = operations.iter().map(done_s).fold(0.0, f64::max);
    let (x, y) = (across(operations, area), Scale::linear((0.0, end_s), (area.bottom(), area.top)));
    let title = format!("Time until the end of each operation, {arm}");
    svg::drawing(WIDTH, area.bottom() + FOOT, &title, "Steeper is slower.", |svg| {
        svg::draw_axis(svg, area, &x, Side::Bottom, 12, "operation");
        svg::draw_axis(svg, area, &y, Side::Left, 4, "time until its end, s");
        for part in operations.chunk_by(|a, b| a.phase == b.phase) {
            let step = part.len().div_ceil(MOST_DOTS / 4).max(1);
            let last = part.last().filter(|_| (part.len() - 1) % step != 0);
            let points = part.iter().step_by(step).chain(last);
            let points: Vec<(f64, f64)> =
                points.map(|o| (x.place(o.number as f64 + 1.0), y.place(done_s(o)))).collect();
            let phase = part[0].phase;
            svg::path(svg, &format!("curve {}", class_of(phase)), &points, phase.word());
        }
        if let Some(broke) = broke {
            let at = x.place(place_of(broke));
            svg::line(svg, "pause", (at, area.top), (at, area.bottom()));
        }
    })
}

fn class_of(phase: Phase) -> &'static str {
    match phase {
        Phase::Fill => class(Kind::Put),
        Phase::Exchange => "control",
        Phase::Drain => class(Kind::Get),
    }
}

fn across(operations: &[Operation], area: Area) -> Scale {
    let last = operations.last().map_or(1.0, |operation| operation.number as f64 + 1.0);
    Scale::linear((0.0, last), (area.left, area.right()))
}

/// Of neighbours of one kind the slowest, so that at most [`MOST_DOTS`] are left.
fn thinned(operations: &[Operation]) -> Vec<&Operation> {
    let together = operations.len().div_ceil(MOST_DOTS / KINDS.len()).max(1);
    if operations.len() <= MOST_DOTS {
        return operations.iter().collect();
    }
    let slowest = |group: &'static [Kind]| {
        operations.chunks(together).flat_map(move |chunk| {
            group
                .iter()
                .filter_map(move |kind| chunk.iter().filter(|o| o.kind == *kind).max_by_key(|o| o.took_us))
        })
    };
    slowest(&KINDS).collect()
}

/// A line at the break, with its words on the side that has room.
fn mark(svg: &mut Html, area: Area, at: f64, words: &str) {
    svg::line(svg, "pause", (at, area.top), (at, area.bottom()));
    let (x, anchor) = if at > area.left + area.width / 2.0 { (at - 6.0, "end") } else { (at + 6.0, "start") };
    svg::text(svg, "tick strong", (x, area.top + 12.0), anchor, words);
}

/// The break in words: where it is, the times on both sides, and the counter that broke with it.
pub fn words(broke: &Break) -> String {
    let place = &broke.place;
    let with = broke.moved.first().map(|moved| format!(", with {}", moved.words)).unwrap_or_default();
    let (before, after) = (result_words::ms(broke.before_us), result_words::ms(broke.after_us));
    let uneven = result_words::more_uneven(broke.before_us, broke.after_us);
    format!("{} {}: {before} to {after}{uneven}{with}", place.kind.word(), place.nth)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operations(number: u64) -> Vec<Operation> {
        let one = |number| Operation {
            number,
            kind: KINDS[(number % 2) as usize],
            phase: Phase::Exchange,
            begun_us: number * 100,
            took_us: 10 + number % 97,
        };
        (0..number).map(one).collect()
    }

    #[test]
    fn spikes_stay_where_dots_are_left_out() {
        let mut many = operations(20_000);
        many[7_777].took_us = 1_000_000;
        let left = thinned(&many);
        assert!(left.len() <= MOST_DOTS, "{}", left.len());
        assert!(left.iter().any(|operation| operation.number == 7_777));
        assert_eq!(thinned(&operations(100)).len(), 100);
    }

    #[test]
    fn short_and_strange_sequences_can_be_drawn() {
        let endless = Operation { begun_us: u64::MAX, took_us: u64::MAX, ..operations(1)[0] };
        let at_once = Operation { took_us: 0, ..operations(1)[0] };
        for operations in [operations(1), vec![at_once], vec![endless], operations(30)] {
            for html in [by_operation("a<b", &operations, None), cumulative("a<b", &operations, None)] {
                let html = html.into_string();
                assert!(html.contains("a&lt;b") && !html.contains("NaN") && !html.contains("inf"), "{html}");
            }
        }
    }
}
