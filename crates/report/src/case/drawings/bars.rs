//! One column a CPU: its figure, its difference to the other CPUs, and below in the same columns what interrupts it.

use machine::CpuSet;
use study::evidence::ArmSummary;
use study::{Contrast, Evidence, Facts, Role, Trust};

use super::Kind;
use crate::case::heat::Heat;
use crate::case::unpinned;
use crate::svg::{self, Area, Scale, Side};
use crate::{Html, number};

mod bands;
mod heat_rows;
mod words;

use bands::Bands;
use words::{description, short, tooltip};

/// Above this many CPUs a column is too narrow for numbers and dots.
pub const MOST_WITH_NUMBERS: usize = 32;

const WIDTH: f64 = 1120.0;
const LEFT: f64 = 226.0;
const RIGHT: f64 = 8.0;
const WIDEST_COLUMN: f64 = 92.0;
/// Least width of the columns beside the CPUs: that of their labels.
const ASIDE: f64 = 34.0;
/// Slow CPUs that are named in a compact drawing; more would touch.
const MOST_NAMED: usize = 12;
const TOP: f64 = 34.0;
const BAR_HEIGHT: f64 = 210.0;
const EFFECT_HEIGHT: f64 = 120.0;

/// What the arms do that have a column each behind the candidates'.
const BEHIND: [Role; 3] = [Role::Intervention, Role::Dose, Role::MisTuning];

/// Whether a column is that of a CPU; else each is that of an arm. Before anything was measured: whether one will be.
pub fn has_cpus(facts: &Facts) -> bool {
    let is_of_cpu = |(role, cpu): (Role, Option<u32>)| {
        cpu.is_some() && (role == Role::Candidate || BEHIND.contains(&role))
    };
    match facts.evidence.arms.is_empty() {
        true => facts.study.arms.iter().map(|arm| (arm.role, arm.cpu)).any(is_of_cpu),
        false => facts.evidence.arms.iter().map(|arm| (arm.role, arm.cpu)).any(is_of_cpu),
    }
}

/// What the columns are, in a word, for titles.
pub fn column_word(facts: &Facts) -> &'static str {
    if has_cpus(facts) { "CPU" } else { "arm" }
}

/// One column of the drawing.
struct Column<'a> {
    label: String,
    name: String,
    cpu: Option<u32>,
    kind: Kind,
    mean: f64,
    values: &'a [f64],
    contrast: Option<&'a Contrast>,
    /// Left edge.
    x: f64,
}

/// Where everything stands.
struct Layout<'a> {
    columns: Vec<Column<'a>>,
    /// Width of one column.
    step: f64,
    /// Too narrow for numbers and dots.
    compact: bool,
    /// Whether a column is that of a CPU.
    has_cpus: bool,
    /// What the columns of many CPUs are of, above them.
    bands: Bands,
    width: f64,
}

/// Draws the columns of a study; `None` while no arm has a figure.
pub fn draw(facts: &Facts, heat: &Heat) -> Option<Html> {
    let pooled = unpinned::pool(&facts.evidence);
    let layout = layout(facts, pooled.as_ref());
    if layout.columns.is_empty() {
        return None;
    }
    let top = TOP + layout.bands.height();
    let bars = Area { left: LEFT, top, width: layout.width - LEFT - RIGHT, height: BAR_HEIGHT };
    let effects = Area { top: bars.bottom() + 72.0, height: EFFECT_HEIGHT, ..bars };
    let has_effects = !facts.evidence.against_other_cpus.is_empty();
    let heat_top = if has_effects { effects.bottom() + 44.0 } else { bars.bottom() + 72.0 };
    let height = heat_top + heat_rows::height(heat);
    let what = match layout.has_cpus {
        true => "CPU, with its difference to the other CPUs and the interrupts of each",
        false => "arm",
    };
    let title = format!("{} by {what}", facts.evidence.metric);
    Some(svg::drawing(layout.width, height, &title, &description(&layout), |svg| {
        layout.bands.draw(svg, &layout, if has_effects { effects.bottom() } else { bars.bottom() });
        draw_bars(svg, facts, &layout, bars);
        if has_effects {
            draw_effects(svg, facts, &layout, effects);
        }
        heat_rows::draw(svg, &layout, heat, heat_top);
    }))
}

fn layout<'a>(facts: &'a Facts, pooled: Option<&'a unpinned::Unpinned>) -> Layout<'a> {
    let evidence = &facts.evidence;
    let summaries = |role: Role| evidence.arms.iter().filter(move |a| a.role == role);
    let pinned = summaries(Role::Candidate).count();
    let compact = pinned > MOST_WITH_NUMBERS;
    let step =
        ((WIDTH - LEFT - RIGHT) / (pinned as f64 + if compact { 8.0 } else { 2.6 })).min(WIDEST_COLUMN);
    // In a compact drawing the two arms beside the CPUs stay wide enough to be seen.
    let aside = step.max(ASIDE);
    let mut columns: Vec<Column> = pooled
        .map(|p| Column {
            label: short(evidence.baseline(), if compact { 0.0 } else { ASIDE.max(step) }),
            name: evidence.baseline().into(),
            cpu: None,
            kind: Kind::Unpinned,
            mean: p.figure.mean,
            values: &p.values,
            contrast: None,
            x: LEFT,
        })
        .into_iter()
        .collect();
    let mut x = LEFT + if columns.is_empty() { 0.0 } else { aside * 1.3 };
    let mut shown: Vec<&ArmSummary> = summaries(Role::Candidate).collect();
    let cpus: CpuSet = shown.iter().filter_map(|summary| summary.cpu).filter(|_| compact).collect();
    let bands = Bands::of(&facts.machine, &cpus);
    // Columns of a band stand beside each other; those of no CPU stay behind them.
    shown.sort_by_cached_key(|of| (of.cpu.is_none(), of.cpu.map(|cpu| bands.place(cpu))));
    shown.extend(BEHIND.into_iter().flat_map(summaries));
    for summary in shown {
        let Some(arm) = facts.study.arms.iter().find(|a| a.name == summary.arm) else { continue };
        let kind = Kind::of(arm, evidence);
        if kind == Kind::Control {
            x += aside * 0.3;
        }
        let contrast = drawn_contrast(evidence, summary);
        columns.push(Column {
            label: summary.cpu.map_or_else(|| short(&summary.arm, step), |cpu| cpu.to_string()),
            name: summary.arm.clone(),
            cpu: summary.cpu,
            kind,
            mean: summary.figure.mean,
            values: &summary.by_block,
            contrast,
            x,
        });
        x += if kind == Kind::Control || summary.cpu.is_none() { aside } else { step };
    }
    Layout { columns, step, compact, has_cpus: has_cpus(facts), bands, width: (x + RIGHT).max(560.0) }
}

/// The comparison that is drawn of an arm: of a control its own, of any other the one with the other CPUs. `None` where there is none.
pub fn drawn_contrast<'a>(evidence: &'a Evidence, arm: &ArmSummary) -> Option<&'a Contrast> {
    match arm.role {
        Role::Dose | Role::MisTuning => {
            let control = evidence.control.as_ref().map(|control| &control.contrast);
            control.filter(|contrast| contrast.arm == arm.arm)
        }
        _ => evidence.against_other_cpus.iter().find(|contrast| contrast.arm == arm.arm),
    }
}

impl Layout<'_> {
    fn width_of(&self, column: &Column) -> f64 {
        if column.cpu.is_none() { self.step.max(ASIDE) } else { self.step }
    }

    fn middle(&self, column: &Column) -> f64 {
        column.x + self.width_of(column) / 2.0
    }

    /// Whether there are few enough slow CPUs to name each.
    fn names_slow(&self) -> bool {
        self.columns.iter().filter(|c| c.kind.is_below()).count() <= MOST_NAMED
    }

    /// Column numbers, with the slow ones named in words; thinned out to a round step where they would touch.
    fn draw_labels(&self, svg: &mut Html, y: f64) {
        let what = if self.has_cpus { "server on CPU" } else { "arm" };
        svg::text(svg, "axis", (LEFT - 10.0, y), "end", what);
        let every =
            [1, 2, 4, 8, 16, 32, 64].into_iter().find(|n| self.step * f64::from(*n) >= 22.0).unwrap_or(128);
        let cpus: Vec<&Column> = self.columns.iter().filter(|c| c.cpu.is_some()).collect();
        let aside = self.columns.iter().filter(|c| c.cpu.is_none());
        for column in cpus.iter().copied().step_by(every as usize).chain(aside) {
            let named = column.kind.is_below() && self.names_slow();
            if !named || !self.compact {
                let class = if named { "tick strong slow" } else { "tick" };
                svg::text(svg, class, (self.middle(column), y), "middle", &column.label);
            }
        }
        for column in cpus.into_iter().filter(|c| c.kind.is_below() && self.names_slow()) {
            let word = match column.kind {
                _ if self.compact => &column.label,
                Kind::Slow => "slow",
                _ => "worse",
            };
            svg::text(svg, "tick strong slow", (self.middle(column), y + 14.0), "middle", word);
        }
    }
}

fn draw_bars(svg: &mut Html, facts: &Facts, layout: &Layout, area: Area) {
    let evidence = &facts.evidence;
    let values = layout.columns.iter().flat_map(|c| c.values.iter().copied().chain([c.mean]));
    let scale = Scale::linear((0.0, values.fold(0.0, f64::max) * 1.03), (area.bottom(), area.top));
    let unit = if evidence.unit.is_empty() { &evidence.metric } else { &evidence.unit };
    svg::draw_axis(svg, area, &scale, Side::Left, 5, unit);
    for column in &layout.columns {
        let width = layout.width_of(column);
        let inset =
            if layout.step < 6.0 || layout.compact && column.kind.is_below() { 0.0 } else { 0.12 * width };
        let top = scale.place(column.mean);
        let bar =
            Area { left: column.x + inset, top, width: width - 2.0 * inset, height: area.bottom() - top };
        svg::rectangle(svg, &format!("bar {}", column.kind.class()), bar, &tooltip(column, unit));
        let narrow = layout.compact && column.cpu.is_some();
        if !narrow {
            draw_trials(svg, layout, column, &scale, unit);
            draw_whisker(svg, layout, column, &scale);
            let fits = width >= 44.0;
            let value = if fits { number::figure(column.mean) } else { number::compact(column.mean) };
            if width >= 30.0 {
                svg::text(svg, "value", (layout.middle(column), area.bottom() - 7.0), "middle", &value);
            }
        }
    }
    svg::line(svg, "base", (area.left, area.bottom()), (area.right(), area.bottom()));
    layout.draw_labels(svg, area.bottom() + 17.0);
}

/// Every trial's dot, spread sideways in order of time so that none hides another.
fn draw_trials(svg: &mut Html, layout: &Layout, column: &Column, scale: &Scale, unit: &str) {
    let room = layout.width_of(column) * 0.5;
    let count = column.values.len().max(2) as f64 - 1.0;
    for (i, value) in column.values.iter().enumerate() {
        let x = layout.middle(column) - room / 2.0 + room * i as f64 / count;
        let title = format!(
            "{}, trial {} of {}: {} {unit}",
            column.name,
            i + 1,
            column.values.len(),
            number::figure(*value)
        );
        svg::dot(svg, &format!("dot {}", column.kind.class()), (x, scale.place(*value)), 2.1, &title);
    }
}

/// The interval of the comparison, scaled to the bar: how far the bar could stand from those that it is compared with.
fn draw_whisker(svg: &mut Html, layout: &Layout, column: &Column, scale: &Scale) {
    let Some((ratio, (low, high))) = column.contrast.and_then(|c| Some((c.ratio, c.interval?))) else {
        return;
    };
    let x = layout.middle(column);
    let [low, high] = [low, high].map(|bound| scale.place(column.mean * bound / ratio));
    let cap = (layout.step * 0.16).min(7.0);
    svg::line(svg, "whisker", (x, low), (x, high));
    svg::line(svg, "whisker", (x - cap, low), (x + cap, low));
    svg::line(svg, "whisker", (x - cap, high), (x + cap, high));
}

/// The difference to the other CPUs with its interval, over the band of differences that count as equal.
fn draw_effects(svg: &mut Html, facts: &Facts, layout: &Layout, area: Area) {
    let margin = facts.evidence.precision.margin;
    let contrasts = || layout.columns.iter().filter(|c| c.kind != Kind::Control).filter_map(|c| c.contrast);
    let bounds =
        contrasts().flat_map(|c| [c.interval.map_or(c.ratio, |i| i.0), c.interval.map_or(c.ratio, |i| i.1)]);
    let changes: Vec<f64> =
        bounds.map(|r| (r - 1.0) * 100.0).chain([-150.0 * margin, 150.0 * margin]).collect();
    let (low, high) = changes.iter().fold((0.0, 0.0), |(l, h): (f64, f64), c| (l.min(*c), h.max(*c)));
    let scale = Scale::linear((low, high), (area.bottom(), area.top));
    svg::draw_axis(svg, area, &scale, Side::Left, 4, "difference to the other CPUs, %");
    let [top, bottom] =
        [(1.0 + margin), 1.0 / (1.0 + margin)].map(|ratio| scale.place((ratio - 1.0) * 100.0));
    let band = Area { top, height: bottom - top, ..area };
    svg::rectangle(svg, "band", band, &format!("differences up to {} count as equal", number::share(margin)));
    svg::line(svg, "base", (area.left, scale.place(0.0)), (area.right(), scale.place(0.0)));
    for column in layout.columns.iter().filter(|c| c.kind != Kind::Control) {
        let Some(contrast) = column.contrast else { continue };
        let x = layout.middle(column);
        let place = |ratio: f64| scale.place((ratio - 1.0) * 100.0);
        let class = column.kind.class();
        if let Some((low, high)) = contrast.interval {
            svg::line(svg, &format!("effect {class}"), (x, place(low)), (x, place(high)));
        }
        let stands_out = column.kind.is_below() || column.kind == Kind::Fast;
        let radius = if layout.compact && !stands_out { (layout.step * 0.4).clamp(1.0, 2.5) } else { 3.4 };
        svg::dot(svg, &format!("point {class}"), (x, place(contrast.ratio)), radius, &tooltip(column, ""));
        if stands_out && layout.names_slow() && (layout.compact || layout.step >= 40.0) {
            let (above, below) =
                contrast.interval.map_or((contrast.ratio, contrast.ratio), |(low, high)| (high, low));
            let fits_below = place(below) + 20.0 < area.bottom();
            let y = if fits_below { place(below) + 17.0 } else { place(above) - 9.0 };
            svg::text(
                svg,
                &format!("tick strong {class}"),
                (x, y),
                "middle",
                &number::change(contrast.ratio),
            );
        }
    }
}

/// Whether a study is one whose bars carry a claim; the page says why when they do not.
pub fn claims_may_be_made(facts: &Facts) -> bool {
    facts.evidence.trust == Trust::Sound
}
