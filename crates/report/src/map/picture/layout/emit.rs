//! From places within groups to places on the page.

use super::{Item, LineStyle, What};
use crate::map::picture::arrange::{self, Detail, PieceKind, Placed, Plan};
use crate::map::picture::measure;
use crate::map::picture::outline::{Chip, Core, Outline, Strip, StripKind};
use crate::svg::Area;

/// Writes items down the page.
pub(super) struct Emitter<'p> {
    outline: &'p Outline,
    plan: &'p Plan,
    items: Vec<Item>,
    left: f64,
    bottom: f64,
}

impl<'p> Emitter<'p> {
    pub(super) fn new(outline: &'p Outline, plan: &'p Plan, margin: f64) -> Self {
        Self { outline, plan, items: Vec::new(), left: margin, bottom: margin }
    }

    pub(super) fn bottom(&self) -> f64 {
        self.bottom
    }

    pub(super) fn into_items(self) -> Vec<Item> {
        self.items
    }

    pub(super) fn space(&mut self, height: f64) {
        self.bottom += height;
    }

    /// A line of text below what is there.
    pub(super) fn line(&mut self, style: LineStyle, text: String, width: f64, height: f64) {
        self.at((0.0, 0.0), (width, height), String::new(), What::Line(style, text));
        self.bottom += height;
    }

    /// Something right on the page, relative to the left margin and to what is there already.
    pub(super) fn at(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), title: String, what: What) {
        let area = Area { left: self.left + x, top: self.bottom + y, width, height };
        self.items.push(Item { area, parent: None, title, what });
    }

    /// The groups of the machine, below what is there.
    pub(super) fn machine(&mut self, placed: &Placed) {
        self.pieces(placed, (self.left, self.bottom), None);
        self.bottom += placed.height;
    }

    fn push(&mut self, area: Area, parent: Option<usize>, title: String, what: What) -> usize {
        self.items.push(Item { area, parent, title, what });
        self.items.len() - 1
    }

    /// The parts of a group whose upper left corner is at `corner` of the page.
    fn pieces(&mut self, placed: &Placed, corner: (f64, f64), parent: Option<usize>) {
        for piece in &placed.pieces {
            let (left, top) = (corner.0 + piece.left, corner.1 + piece.top);
            let area = |width, height| Area { left, top, width, height };
            match &piece.what {
                PieceKind::Group(placed) => self.group(placed, (left, top), parent),
                PieceKind::Strip(strip) => {
                    let room = placed.width - 2.0 * self.plan.pad;
                    let what = written(strip, room, placed.with_cpus);
                    self.push(area(room, arrange::STRIP), parent, title(strip), what);
                }
                PieceKind::Line(text) => {
                    let room = measure::width(text, arrange::SMALL, false);
                    let line = What::Line(LineStyle::Caption, text.clone());
                    self.push(area(room, arrange::LINE), parent, String::new(), line);
                }
                PieceKind::Grid { cores, columns, core } => {
                    let gap = self.plan.core_gap;
                    for (i, each) in cores.iter().enumerate() {
                        let (row, column) = ((i / columns) as f64, (i % columns) as f64);
                        let (x, y) = (left + column * (core.0 + gap), top + row * (core.1 + gap));
                        self.core(each, Area { left: x, top: y, width: core.0, height: core.1 }, parent);
                    }
                }
                PieceKind::Chip(chip, (width, height)) => {
                    self.push(area(*width, *height), parent, chip.title.clone(), shown(chip, *width));
                }
            }
        }
    }

    fn group(&mut self, placed: &Placed, corner: (f64, f64), parent: Option<usize>) {
        let area = Area { left: corner.0, top: corner.1, width: placed.width, height: placed.height };
        let strips = &placed.group.strips;
        let kind = strips.first().map_or(StripKind::Unplaced, |strip| strip.kind);
        let title = strips.iter().map(title).collect::<Vec<_>>().join("; ");
        let frame = self.push(area, parent, title, What::Frame(kind));
        self.pieces(placed, corner, Some(frame));
    }

    fn core(&mut self, core: &Core, area: Area, parent: Option<usize>) {
        let full = self.plan.detail == Detail::Full && core.has_box();
        let boxed = full || core.cpus.len() > 1;
        let words = core.name.iter().chain(&core.caches).cloned().collect::<Vec<_>>().join(", ");
        let inside = if boxed { Some(self.push(area, parent, words, What::Core)) } else { parent };
        let (pad, mut top) = match full {
            true => (arrange::CORE_PAD, area.top + arrange::CORE_PAD),
            false if boxed => (self.plan.rim, area.top + self.plan.rim),
            false => (0.0, area.top),
        };
        if full {
            top = self.core_lines(core, area, inside, top);
        }
        let (mut width, height) = self.plan.cell;
        if full {
            // The threads share the width of the box.
            let gaps = self.plan.cell_gap * (core.cpus.len() as f64 - 1.0);
            width = width.max((area.width - 2.0 * pad - gaps) / core.cpus.len() as f64);
        }
        // On the lower edge, however many lines a core has above.
        top = top.max(area.bottom() - pad - height);
        for (i, cpu) in core.cpus.iter().enumerate() {
            let left = area.left + pad + i as f64 * (width + self.plan.cell_gap);
            let title = self.outline.faces.get(cpu).map(|face| face.title.clone()).unwrap_or_default();
            let cell = What::Cell { cpu: *cpu, numbered: self.plan.number > 0.0 };
            self.push(Area { left, top, width, height }, inside, title, cell);
        }
    }

    /// Name and own caches of a core; gives the place below.
    fn core_lines(&mut self, core: &Core, area: Area, inside: Option<usize>, mut top: f64) -> f64 {
        let (left, width) = (area.left + arrange::CORE_PAD, area.width - 2.0 * arrange::CORE_PAD);
        let mut put = |top: f64, what| {
            let area = Area { left, top, width, height: arrange::CORE_LINE };
            self.push(area, inside, String::new(), what);
        };
        if let Some(name) = &core.name {
            put(top, What::Line(LineStyle::Caption, name.clone()));
            top += arrange::CORE_LINE;
        }
        for cache in &core.caches {
            put(top, What::OwnCache(cache.clone()));
            top += arrange::CORE_LINE + 2.0;
        }
        top
    }
}

fn title(strip: &Strip) -> String {
    match strip.detail.is_empty() {
        true => strip.words(),
        false => format!("{}, {}", strip.words(), strip.detail),
    }
}

/// A strip as far as there is room for it; half a list of CPUs would mislead, half a sentence does not.
fn written(strip: &Strip, room: f64, with_cpus: bool) -> What {
    let room = room - 2.0 * arrange::inset(strip.kind);
    let name = measure::cut(&strip.name, arrange::SMALL, true, room);
    let rest = room - measure::width(&name, arrange::SMALL, true) - arrange::BESIDE;
    let figure = measure::cut(&strip.figure, arrange::SMALL, false, rest);
    let rest = rest - measure::width(&figure, arrange::SMALL, false) - arrange::BESIDE;
    let detail = match with_cpus || !strip.detail.starts_with("CPU") {
        true => measure::cut(&strip.detail, arrange::SMALL, false, rest),
        false => String::new(),
    };
    What::Strip { kind: strip.kind, name, figure, detail }
}

fn shown(chip: &Chip, width: f64) -> What {
    let room = width - arrange::CHIP_EDGE - 6.0;
    let name = measure::cut(&chip.name, arrange::SMALL, true, room);
    let rest = room - measure::width(&name, arrange::SMALL, true) - arrange::BESIDE;
    What::Chip {
        kind: chip.kind,
        detail: measure::cut(&chip.detail, arrange::SMALL, false, rest),
        served: measure::cut(chip.served.as_deref().unwrap_or_default(), arrange::SMALL, false, room),
        name,
    }
}
