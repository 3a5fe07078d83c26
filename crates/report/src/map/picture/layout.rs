//! Where everything stands on the page: pure, from an outline to a scene of rectangles.

mod emit;
mod foot;

use super::arrange::{self, Placed, Plan};
use super::heat::{Heat, Scale};
use super::measure;
use super::outline::{ChipKind, Mark, Outline, StripKind};
use super::overlay::Overlay;
use crate::svg::Area;
use emit::Emitter;

/// The whole picture, in the order in which it is painted.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Scene {
    /// Width of the page, user units (pixels at scale 1).
    pub width: f64,
    /// Its height.
    pub height: f64,
    /// What is on it; what holds another thing comes before it.
    pub items: Vec<Item>,
    /// Type size of CPU numbers.
    pub number_size: f64,
    /// Whether cells have room for lines of text below their numbers.
    pub with_lines: bool,
}

/// One thing on the page.
#[derive(Debug, Clone, PartialEq)]
pub struct Item {
    /// Its place.
    pub area: Area,
    /// The item that it is in; `None` right on the page.
    pub parent: Option<usize>,
    /// What its tooltip says; empty for none.
    pub title: String,
    /// What it is.
    pub what: What,
}

/// What is drawn.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// The frame of a group, by its outermost level.
    Frame(StripKind),
    /// The box of a core.
    Core,
    /// A CPU, with its number or without.
    Cell {
        /// The CPU.
        cpu: u32,
        /// Whether its number is written.
        numbered: bool,
    },
    /// A level as a bar or heading: its name and size on the left, its CPUs on the right (or nothing).
    Strip {
        /// What level.
        kind: StripKind,
        /// On the left, in bold.
        name: String,
        /// After it.
        figure: String,
        /// On the right.
        detail: String,
    },
    /// A core's own cache.
    OwnCache(String),
    /// A line of text.
    Line(LineStyle, String),
    /// A device: name, what follows on the first line, and the second line.
    Chip {
        /// Kind of device.
        kind: ChipKind,
        /// In bold.
        name: String,
        /// After it.
        detail: String,
        /// Below it.
        served: String,
    },
    /// A sample for the legend.
    Swatch(Swatch),
    /// A distance between nodes, with its shade of 0 (local) to 4 (farthest).
    Distance(String, usize),
}

/// How a line of text looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineStyle {
    /// The line above the picture.
    Title,
    /// Further words about the whole.
    Sub,
    /// Small words in a group.
    Caption,
    /// Small words that stand in the middle of their place.
    Centred,
}

/// What a sample shows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Swatch {
    /// A step of heat.
    Heat(usize),
    /// A CPU of which the heat is not known.
    NoHeat,
    /// A mark on a CPU.
    Mark(Mark),
    /// The edge of a device.
    Chip(ChipKind),
    /// A core of two threads.
    Threads,
    /// A CPU with its number.
    Cpu,
}

/// Room around the picture.
const MARGIN: f64 = 18.0;
/// No page is narrower.
const NARROWEST: f64 = 580.0;
/// No page is wider, if that can be had: a screen, or a sheet of paper on which small type can still be read ...
const WIDEST: f64 = 1160.0;
/// ... with so many CPUs. With more the page grows in both directions.
const WIDEST_UP_TO: f64 = 512.0;
/// Widths that are tried are so far apart.
const STEP: f64 = 40.0;
/// Numbers of cores beside each other that are tried.
const COLUMNS: [usize; 8] = [4, 6, 8, 12, 16, 24, 32, 48];
/// The shape that a page should have, width to height: between a sheet of paper across and a screen.
const SHAPE: f64 = 1.5;
/// What a page costs more for each factor of e that its shape is off.
const SHAPE_COSTS: f64 = 1.2;
/// The likely height of what stands above the machine.
const HEAD: f64 = 60.0;
/// Type sizes of the title and of the lines below it.
pub(super) const TITLE: f64 = 16.0;
pub(super) const SUB: f64 = 12.0;

/// Lays the outline out. The heat decides only what the legend says.
pub fn layout(outline: &Outline, heat: Option<&Heat>) -> Scene {
    let scale = heat.and_then(Scale::of);
    lay_out(outline, None, |page, width| foot::emit(page, outline, heat, scale, width))
}

/// Lays the outline out with room for what is written into its cells. What that means is said beside the picture, so that below it stands
/// only what the marks of the machine mean.
pub fn layout_noted(outline: &Outline, overlay: &Overlay) -> Scene {
    lay_out(outline, Some(overlay), |page, width| foot::emit_marks(page, outline, width))
}

fn lay_out(outline: &Outline, overlay: Option<&Overlay>, foot: impl FnOnce(&mut Emitter<'_>, f64)) -> Scene {
    let (plan, body) = best(outline, overlay);
    let body_width = body.as_ref().map_or(0.0, |body| body.width);
    let width = body_width.max(NARROWEST);
    let mut page = Emitter::new(outline, &plan, MARGIN);
    head(&mut page, outline, &plan, width);
    if let Some(body) = &body {
        page.space(8.0);
        page.machine(body);
    }
    page.space(14.0);
    foot(&mut page, width);
    Scene {
        width: width + 2.0 * MARGIN,
        height: page.bottom() + MARGIN,
        number_size: plan.number,
        with_lines: plan.with_lines,
        items: page.into_items(),
    }
}

/// Tries page widths and numbers of columns, and takes the smallest page of good shape.
fn best<'a>(outline: &'a Outline, overlay: Option<&Overlay>) -> (Plan, Option<Placed<'a>>) {
    let crowd = (outline.faces.len() as f64 / WIDEST_UP_TO).max(1.0);
    let widest = WIDEST * crowd.powf(0.25);
    let mut best: Option<(f64, Plan, Placed)> = None;
    let foot = foot::likely_height(outline);
    for columns in COLUMNS {
        let plan = Plan::of(outline, columns, overlay);
        let mut room = NARROWEST;
        while room <= widest {
            if let Some(placed) = arrange::machine(outline, room, &plan) {
                let cost = cost(&placed, widest, foot);
                if best.as_ref().is_none_or(|(least, ..)| cost < *least) {
                    best = Some((cost, plan.clone(), placed));
                }
            }
            room += STEP;
        }
    }
    match best {
        Some((_, plan, placed)) => (plan, Some(placed)),
        None => (Plan::of(outline, COLUMNS[0], overlay), None),
    }
}

/// The area of the page, more for a page that is too wide or too tall, much more for one that is wider than asked.
fn cost(placed: &Placed, widest: f64, foot: f64) -> f64 {
    let (width, height) = (placed.width.max(NARROWEST), placed.height + HEAD + foot);
    let shape = (width / height / SHAPE).ln().abs();
    let too_wide = (placed.width / widest).max(1.0).powi(4);
    width * height * (1.0 + SHAPE_COSTS * shape) * too_wide
}

fn head(page: &mut Emitter, outline: &Outline, plan: &Plan, width: f64) {
    for line in measure::lines(&outline.headline, TITLE, true, width) {
        page.line(LineStyle::Title, line, width, TITLE + 6.0);
    }
    let each = outline.each_core.as_ref().filter(|_| plan.detail == arrange::Detail::Compact);
    let each = each.map(|each| format!("each core: {each}"));
    for text in outline.lines.iter().chain(each.iter()) {
        for line in measure::lines(text, SUB, false, width) {
            page.line(LineStyle::Sub, line, width, SUB + 5.0);
        }
    }
}
