//! A scene as SVG.

mod noted;

use std::collections::BTreeMap;

use super::arrange::{self, SMALL};
use super::heat::{Heat, Scale};
use super::layout::{Item, LineStyle, SUB, Scene, Swatch, TITLE, What};
use super::outline::{ChipKind, Face, Mark, StripKind};
use super::overlay::Overlay;
use crate::markup::{Attributes, Html};
use crate::svg::{self, Area, coordinate};
pub use noted::{bar_sample, noted, sign_sample, star_sample};

/// Plain rules without variables, so that converters which know none draw it too.
pub(super) const STYLE: &str = include_str!("style.css");

/// Rounding of corners.
const ROUND: f64 = 3.0;

/// Draws a scene as one SVG element that needs nothing else.
pub fn svg(
    scene: &Scene,
    faces: &BTreeMap<u32, Face>,
    heat: Option<&Heat>,
    title: &str,
    words: &str,
) -> Html {
    let pen = Pen { faces, heat, scale: heat.and_then(Scale::of), overlay: None, scene };
    let view_box = format!("0 0 {} {}", coordinate(scene.width), coordinate(scene.height));
    let (width, height) = (coordinate(scene.width), coordinate(scene.height));
    let attributes: Attributes = &[
        ("xmlns", &"http://www.w3.org/2000/svg"),
        ("class", &"machine"),
        ("viewBox", &view_box),
        ("width", &width),
        ("height", &height),
        ("role", &"img"),
        ("aria-labelledby", &"machine-title machine-words"),
    ];
    let mut html = Html::new();
    html.within("svg", attributes, |svg| {
        svg.element("title", &[("id", &"machine-title")], title);
        svg.element("desc", &[("id", &"machine-words")], words);
        svg.within("style", &[], |style| {
            style.literal(STYLE);
        });
        let page = Area { left: 0.0, top: 0.0, width: scene.width, height: scene.height };
        svg::rectangle(svg, "paper", page, "");
        scene.items.iter().for_each(|item| pen.item(svg, item));
    });
    html
}

struct Pen<'a> {
    faces: &'a BTreeMap<u32, Face>,
    heat: Option<&'a Heat>,
    scale: Option<Scale>,
    overlay: Option<&'a Overlay>,
    scene: &'a Scene,
}

impl Pen<'_> {
    fn item(&self, svg: &mut Html, item: &Item) {
        let area = item.area;
        match &item.what {
            What::Frame(kind) => rounded(svg, &format!("frame {}", class_of(*kind)), area, &item.title),
            What::Core => rounded(svg, "core", area, &item.title),
            What::Cell { cpu, numbered } => self.cell(svg, *cpu, *numbered, area, &item.title),
            What::Strip { kind, name, figure, detail } => {
                strip(svg, *kind, [name, figure, detail], area, &item.title);
            }
            What::OwnCache(text) => {
                rounded(svg, "strip cache", area, "");
                put(svg, "small on-cache", (area.left + 5.0, middle(area, SMALL)), "start", text);
            }
            What::Line(style, text) => line(svg, *style, text, area),
            What::Chip { kind, name, detail, served } => {
                chip(svg, *kind, [name, detail, served], area, &item.title);
            }
            What::Swatch(swatch) => self.swatch(svg, *swatch, area),
            What::Distance(text, shade) => {
                svg::rectangle(svg, &format!("distance d{shade}"), area, &item.title);
                put(svg, "small", (area.left + area.width / 2.0, middle(area, SMALL)), "middle", text);
            }
        }
    }

    fn cell(&self, svg: &mut Html, cpu: u32, numbered: bool, area: Area, title: &str) {
        if let Some(overlay) = self.overlay {
            return noted::cell(self, overlay, svg, (cpu, numbered), area, title);
        }
        let figure = self.heat.and_then(|heat| heat.words(cpu));
        let step = figure.as_ref().and_then(|_| {
            let value = *self.heat?.values.get(&cpu)?;
            self.scale?.step(value)
        });
        let title = match figure {
            Some(figure) => format!("{title}: {figure}"),
            None => title.to_string(),
        };
        let marks = self.faces.get(&cpu).map(|face| face.marks.as_slice()).unwrap_or_default();
        let offline = marks.contains(&Mark::Offline);
        let fill = match step.filter(|_| !offline) {
            Some(step) => format!("cell h{step}"),
            None if offline => "cell offline".into(),
            None => "cell".into(),
        };
        svg.within("g", &[], |cell| {
            cell.element("title", &[], title);
            svg::rectangle(cell, &fill, area, "");
            marks.iter().for_each(|mark| draw_mark(cell, *mark, area));
            if numbered {
                let deep = if step.is_some_and(|step| step >= 7) && !offline { " deep" } else { "" };
                let faint = if marks.iter().any(|m| *m <= Mark::NotAllowed) { " faint" } else { "" };
                let size = self.scene.number_size;
                let class = format!("n{}{deep}{faint}", (size * 10.0) as u32);
                let place = (area.left + area.width / 2.0, middle(area, size));
                svg::text(cell, &class, place, "middle", &cpu.to_string());
            }
        });
    }

    fn swatch(&self, svg: &mut Html, swatch: Swatch, area: Area) {
        match swatch {
            Swatch::Heat(step) => svg::rectangle(svg, &format!("cell h{step}"), area, ""),
            Swatch::Cpu => {
                svg::rectangle(svg, "cell", area, "");
                put(svg, "n85", (area.left + area.width / 2.0, middle(area, 8.5)), "middle", "n");
            }
            Swatch::NoHeat => svg::rectangle(svg, "cell", area, ""),
            Swatch::Mark(mark) => {
                let fill = if mark == Mark::Offline { "cell offline" } else { "cell" };
                svg::rectangle(svg, fill, area, "");
                draw_mark(svg, mark, area);
            }
            Swatch::Chip(kind) => chip(svg, kind, ["", "", ""], area, ""),
            Swatch::Threads => {
                rounded(svg, "core", area, "");
                let half = (area.width - 5.0) / 2.0;
                for left in [area.left + 2.0, area.left + 3.0 + half] {
                    let cell = Area { left, top: area.top + 2.0, width: half, height: area.height - 4.0 };
                    svg::rectangle(svg, "cell", cell, "");
                }
            }
        }
    }
}

/// Marks differ in shape, not in colour alone.
fn draw_mark(svg: &mut Html, mark: Mark, area: Area) {
    match mark {
        Mark::Offline => {}
        Mark::NotAllowed => {
            let (right, top, side) = (area.right(), area.top, (area.height * 0.4).min(9.0));
            svg::path(svg, "corner", &[(right - side, top), (right, top), (right, top + side)], "");
        }
        Mark::Isolated => {
            let inner = Area {
                left: area.left + 1.0,
                top: area.top + 1.0,
                width: area.width - 2.0,
                height: area.height - 2.0,
            };
            svg::rectangle(svg, "isolated", inner, "");
        }
        Mark::Tickless => {
            let (right, bottom) = (area.right() - 1.5, area.bottom() - 1.5);
            svg::line(svg, "tickless", (area.left + 1.5, bottom), (right, bottom));
        }
    }
}

fn strip(svg: &mut Html, kind: StripKind, [name, figure, detail]: [&str; 3], area: Area, title: &str) {
    let class = class_of(kind);
    let bar = matches!(kind, StripKind::Node | StripKind::Cache);
    let inset = arrange::inset(kind);
    if bar {
        rounded(svg, &format!("strip {class}"), area, title);
    }
    let base = middle(area, SMALL);
    named(svg, &format!("small on-{class}"), (area.left + inset, base), name, figure);
    put(svg, &format!("small soft on-{class}"), (area.right() - inset, base), "end", detail);
}

fn line(svg: &mut Html, style: LineStyle, text: &str, area: Area) {
    let (class, size, anchor) = match style {
        LineStyle::Title => ("title", TITLE, "start"),
        LineStyle::Sub => ("sub soft", SUB, "start"),
        LineStyle::Caption => ("small soft", SMALL, "start"),
        LineStyle::Centred => ("small soft", SMALL, "middle"),
    };
    let left = if anchor == "middle" { area.left + area.width / 2.0 } else { area.left };
    put(svg, class, (left, middle(area, size)), anchor, text);
}

fn chip(svg: &mut Html, kind: ChipKind, [name, detail, served]: [&str; 3], area: Area, title: &str) {
    let edge = match kind {
        ChipKind::Net => "edge net",
        ChipKind::Disk => "edge disk",
        ChipKind::Gpu => "edge gpu",
        ChipKind::Other => "edge other",
    };
    rounded(svg, "chip", area, title);
    svg::rectangle(svg, edge, Area { width: 4.0, ..area }, "");
    let (left, line) = (area.left + 9.0, arrange::LINE);
    let base = area.top + 2.5 + line / 2.0 + SMALL * BASE;
    named(svg, "small", (left, base), name, detail);
    put(svg, "small soft", (left, base + line), "start", served);
}

fn class_of(kind: StripKind) -> &'static str {
    match kind {
        StripKind::Package => "package",
        StripKind::Die => "die",
        StripKind::Node => "node",
        StripKind::Cluster => "cluster",
        StripKind::Cache => "cache",
        StripKind::Unplaced => "unplaced",
    }
}

/// From the middle of a line down to its base, as a share of the type size.
const BASE: f64 = 0.355;

fn middle(area: Area, size: f64) -> f64 {
    area.top + area.height / 2.0 + size * BASE
}

/// A name in bold, and in plain type what follows it.
fn named(svg: &mut Html, class: &str, (left, base): (f64, f64), name: &str, rest: &str) {
    if name.is_empty() {
        return;
    }
    svg.within("text", &[("class", &class), ("x", &coordinate(left)), ("y", &coordinate(base))], |text| {
        text.element("tspan", &[("class", &"head")], name);
        if !rest.is_empty() {
            text.element("tspan", &[("dx", &arrange::BESIDE)], rest);
        }
    });
}

fn put(svg: &mut Html, class: &str, place: (f64, f64), anchor: &'static str, text: &str) {
    if !text.is_empty() {
        svg::text(svg, class, place, anchor, text);
    }
}

fn rounded(svg: &mut Html, class: &str, area: Area, title: &str) {
    let [x, y, w, h] = [area.left, area.top, area.width.max(0.0), area.height.max(0.0)].map(coordinate);
    let attributes: Attributes =
        &[("class", &class), ("x", &x), ("y", &y), ("width", &w), ("height", &h), ("rx", &ROUND)];
    svg.within("rect", attributes, |rect| {
        if !title.is_empty() {
            rect.element("title", &[], title);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn type_is_as_large_as_the_layout_takes_it_to_be() {
        for (class, size) in
            [("title", TITLE), ("sub", SUB), ("small", SMALL), ("n120", 12.0), ("n105", 10.5), ("n85", 8.5)]
        {
            let rule = format!(".machine .{class} {{ font-size: {size}px;");
            assert!(STYLE.contains(&rule), "{rule}");
        }
        assert!(!STYLE.contains(['<', '&']), "it stands in XML as it is");
    }

    #[test]
    fn every_step_of_heat_has_a_colour_in_light_and_in_dark() {
        for step in 0..super::super::heat::STEPS {
            assert_eq!(STYLE.matches(&format!(".machine .h{step} {{ fill: #")).count(), 2, "{step}");
        }
    }
}
