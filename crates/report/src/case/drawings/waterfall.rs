//! From one total to another by what makes the difference: a row a step, with the interval of each.

use crate::Html;
use crate::case::table::wrap::cut;
use crate::svg::{self, Area, Scale, Side};

const WIDTH: f64 = 748.0;
/// Room for names at the left, and for values and intervals at the right.
const LEFT: f64 = 140.0;
const RIGHT: f64 = 208.0;
const TOP: f64 = 8.0;
const ROW: f64 = 30.0;
const BAR: f64 = 18.0;
/// Room for the axis below.
const FOOT: f64 = 44.0;
/// Characters of a name that fit at the left.
const NAME: usize = 18;

/// What a bar is; its class gives the colour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// The whole of one side.
    Total,
    /// A step upward.
    More,
    /// A step downward.
    Less,
    /// A step that is not shown to be one.
    Unsure,
}

impl Fill {
    /// Style class.
    pub fn class(self) -> &'static str {
        match self {
            Self::Total => "unpinned",
            Self::More => "slow",
            Self::Less => "fast",
            Self::Unsure => "pinned",
        }
    }
}

/// One of the two totals.
#[derive(Debug, Clone, PartialEq)]
pub struct Total {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: f64,
    /// The value in words, and its difference.
    pub words: (String, String),
    /// Interval of its difference to the other total.
    pub interval: Option<(f64, f64)>,
}

/// A step between them.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Its name.
    pub name: &'static str,
    /// How far it leads.
    pub by: f64,
    /// Interval of that.
    pub interval: Option<(f64, f64)>,
    /// The same in words: the step, and its interval.
    pub words: (String, String),
    /// How it is filled.
    pub fill: Fill,
}

/// What is drawn.
#[derive(Debug, Clone, PartialEq)]
pub struct Waterfall {
    /// Title of the drawing.
    pub title: String,
    /// What the axis shows.
    pub axis: String,
    /// Where it begins.
    pub from: Total,
    /// The way, in order.
    pub steps: Vec<Step>,
    /// Where it ends.
    pub to: Total,
}

/// Draws it.
pub fn draw(fall: &Waterfall) -> Html {
    let rows = fall.steps.len() + 2;
    let area = Area { left: LEFT, top: TOP, width: WIDTH - LEFT - RIGHT, height: ROW * rows as f64 };
    let (low, high) = range(fall);
    let scale = Scale::linear((low, high), (area.left, area.right()));
    svg::drawing(WIDTH, area.bottom() + FOOT, &fall.title, &description(fall), |svg| {
        svg::draw_axis(svg, area, &scale, Side::Bottom, 5, &axis_title(fall, low));
        draw_total(svg, &fall.from, None, area.top, &scale, low);
        let mut at = fall.from.value;
        for (i, step) in fall.steps.iter().enumerate() {
            draw_step(svg, step, at, area.top + ROW * (i + 1) as f64, &scale);
            at += step.by;
        }
        let base = Some(fall.from.value);
        draw_total(svg, &fall.to, base, area.bottom() - ROW, &scale, low);
        svg::line(svg, "base", (area.left, area.top), (area.left, area.bottom()));
    })
}

/// All that is reached by bars and whiskers. It begins at 0 where that leaves the steps half of the width.
fn range(fall: &Waterfall) -> (f64, f64) {
    let mut at = fall.from.value;
    let mut reached = vec![at, fall.to.value];
    let to = fall.to.interval.map(|(low, high)| [fall.from.value + low, fall.from.value + high]);
    reached.extend(to.into_iter().flatten());
    for step in &fall.steps {
        let interval = step.interval.map(|(low, high)| [at + low, at + high]);
        reached.extend(interval.into_iter().flatten());
        at += step.by;
        reached.push(at);
    }
    let low = reached.iter().copied().fold(f64::INFINITY, f64::min);
    let high = reached.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    let room = high - low;
    let low = low - room / 3.0;
    let low = if low < room { low.min(0.0) } else { low };
    // A whisker may lead below 0, and nothing else does.
    (if reached.iter().all(|value| *value >= 0.0) { low.max(0.0) } else { low }, high + room / 40.0)
}

fn axis_title(fall: &Waterfall, low: f64) -> String {
    match low > 0.0 {
        true => format!("{}; the axis does not begin at 0", fall.axis),
        false => fall.axis.clone(),
    }
}

fn draw_total(svg: &mut Html, total: &Total, base: Option<f64>, top: f64, scale: &Scale, low: f64) {
    let begin = scale.place(low.max(0.0));
    let bar = bar_between(begin, scale.place(total.value), top);
    svg::rectangle(svg, "bar unpinned", bar, &format!("{}: {}", total.name, total.words.0));
    if low > 0.0 {
        let (x, over) = (bar.left + 9.0, 2.0);
        svg::path(svg, "break", &[(x + 4.0, bar.top - over), (x - 2.0, bar.bottom() + over)], "");
    }
    if let (Some(base), Some((low, high))) = (base, total.interval) {
        whisker(svg, (scale.place(base + low), scale.place(base + high)), top);
    }
    names(svg, "strong", &cut(&crate::visible::one_line(&total.name), NAME), &total.words, top);
}

fn draw_step(svg: &mut Html, step: &Step, at: f64, top: f64, scale: &Scale) {
    let (from, to) = (scale.place(at), scale.place(at + step.by));
    svg::line(svg, "leader", (from, top - (ROW - BAR) / 2.0), (from, top + (ROW - BAR) / 2.0));
    // A step next to nothing is a line that can be seen.
    let mut bar = bar_between(from, to, top);
    bar.width = bar.width.max(1.0);
    let title = format!("{}: {} {}", step.name, step.words.0, step.words.1);
    svg::rectangle(svg, &format!("bar {}", step.fill.class()), bar, title.trim_end());
    svg::line(svg, "leader", (to, bar.bottom()), (to, top + ROW));
    if let Some((low, high)) = step.interval {
        whisker(svg, (scale.place(at + low), scale.place(at + high)), top);
    }
    let class = if step.fill == Fill::Unsure { "tick" } else { "" };
    names(svg, class, step.name, &step.words, top);
}

fn bar_between(a: f64, b: f64, top: f64) -> Area {
    Area { left: a.min(b), top: top + (ROW - BAR) / 2.0, width: (a - b).abs(), height: BAR }
}

/// The interval, in the middle of a row.
fn whisker(svg: &mut Html, (low, high): (f64, f64), top: f64) {
    let (y, cap) = (top + ROW / 2.0, 4.0);
    svg::line(svg, "whisker", (low, y), (high, y));
    svg::line(svg, "whisker", (low, y - cap), (low, y + cap));
    svg::line(svg, "whisker", (high, y - cap), (high, y + cap));
}

/// The name at the left of a row, the values at its right.
fn names(svg: &mut Html, class: &str, name: &str, (value, interval): &(String, String), top: f64) {
    let y = top + ROW / 2.0 + 4.0;
    let column = WIDTH - RIGHT + 86.0;
    svg::text(svg, class, (LEFT - 10.0, y), "end", name);
    svg::text(svg, class, (column, y), "end", value);
    if !interval.is_empty() {
        svg::text(svg, "tick", (column + 10.0, y), "start", interval);
    }
}

fn description(fall: &Waterfall) -> String {
    let total = |total: &Total| format!("{} {}", total.name, total.words.0);
    let steps = fall.steps.iter().map(|step| format!("{} {} {}", step.name, step.words.0, step.words.1));
    let all: Vec<String> =
        std::iter::once(total(&fall.from)).chain(steps).chain(std::iter::once(total(&fall.to))).collect();
    format!("{}. The table below has all numbers.", all.join("; "))
}

/// A sample for a legend, into 18 by 14.
pub fn sample(svg: &mut Html, fill: Fill) {
    let bar = Area { left: 2.0, top: 3.0, width: 14.0, height: 9.0 };
    svg::rectangle(svg, &format!("bar {}", fill.class()), bar, "");
}
