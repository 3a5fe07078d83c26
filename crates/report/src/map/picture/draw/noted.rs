//! Cells with what is written into them: the number at the upper left, signs at the upper right, lines and letters below, a bar at the
//! lower edge.

use std::collections::BTreeMap;

use super::{Pen, draw_mark, middle};
use crate::map::picture::layout::Scene;
use crate::map::picture::outline::{Face, Mark};
use crate::map::picture::overlay::{self, BAR, Bar, CellNote, LETTER, LETTERS_IN_ROW, Overlay, PAD, Sign};
use crate::markup::{Attributes, Html};
use crate::svg::{self, Area, coordinate};

/// Draws a scene with what is written into its cells, for a page that has the style sheet of pictures.
pub fn noted(
    scene: &Scene,
    faces: &BTreeMap<u32, Face>,
    overlay: &Overlay,
    title: &str,
    words: &str,
) -> Html {
    let pen = Pen { faces, heat: None, scale: None, overlay: Some(overlay), scene };
    let view_box = format!("0 0 {} {}", coordinate(scene.width), coordinate(scene.height));
    let (width, height) = (coordinate(scene.width), coordinate(scene.height));
    let attributes: Attributes = &[
        ("viewBox", &view_box),
        ("width", &width),
        ("height", &height),
        ("role", &"img"),
        ("aria-label", &title),
    ];
    let mut html = Html::new();
    html.within("svg", attributes, |svg| {
        svg.element("desc", &[], words);
        svg.within("g", &[("class", &"machine")], |all| {
            scene.items.iter().for_each(|item| pen.item(all, item));
        });
    });
    html
}

/// A sample of a sign as it fills a cell, for a legend: into 18 by 14.
pub fn sign_sample(svg: &mut Html, sign: Sign) {
    let cell = Area { left: 1.0, top: 0.5, width: 16.0, height: 13.0 };
    svg.within("g", &[("class", &"machine")], |all| {
        svg::rectangle(all, &format!("cell {}", sign.class()), cell, "");
        draw_sign(all, sign, Area { left: 5.0, top: 3.0, width: 8.0, height: 8.0 });
    });
}

/// A sample of the mark of the best, for a legend: into 18 by 14.
pub fn star_sample(svg: &mut Html) {
    svg.within("g", &[("class", &"machine")], |all| {
        star(all, Area { left: 4.0, top: 2.0, width: 10.0, height: 10.0 });
    });
}

/// A sample of a bar, for a legend: into 18 by 14.
pub fn bar_sample(svg: &mut Html, bar: Bar) {
    let cell = Area { left: 1.0, top: 0.5, width: 16.0, height: 13.0 };
    svg.within("g", &[("class", &"machine")], |all| {
        svg::rectangle(all, "cell", cell, "");
        draw_bar(all, bar, cell);
    });
}

/// Type that is written with.
struct Type {
    /// Its size.
    size: f64,
    /// Its style class.
    class: String,
    /// Whether lines of text have room.
    with_lines: bool,
}

/// A cell of a picture in which something is written into cells, if only into those of some CPUs.
pub(super) fn cell(
    pen: &Pen,
    overlay: &Overlay,
    svg: &mut Html,
    (cpu, numbered): (u32, bool),
    area: Area,
    title: &str,
) {
    let none = CellNote::default();
    let note = overlay.cells.get(&cpu).unwrap_or(&none);
    let marks = pen.faces.get(&cpu).map(|face| face.marks.as_slice()).unwrap_or_default();
    let size = pen.scene.number_size;
    let faint = if marks.iter().any(|mark| *mark <= Mark::NotAllowed) { " faint" } else { "" };
    let class = format!("n{}{faint}", (size * 10.0) as u32);
    let kind = Type { size, class, with_lines: pen.scene.with_lines };
    let fill = match note.sign {
        _ if marks.contains(&Mark::Offline) => "cell offline".to_string(),
        Some(sign) => format!("cell {}", sign.class()),
        None => "cell".to_string(),
    };
    let title = if note.title.is_empty() { title.to_string() } else { format!("{title}: {}", note.title) };
    svg.within("g", &[], |cell| {
        cell.element("title", &[], title);
        svg::rectangle(cell, &fill, area, "");
        marks.iter().for_each(|mark| draw_mark(cell, *mark, area));
        write(cell, numbered.then_some(cpu), note, area, &kind);
    });
}

/// Writes what stands in a cell; the cell itself and its marks are drawn.
fn write(svg: &mut Html, cpu: Option<u32>, note: &CellNote, area: Area, kind: &Type) {
    let line = overlay::line(kind.size);
    let mut row =
        Area { left: area.left + PAD, top: area.top + 1.0, width: area.width - 2.0 * PAD, height: line };
    if let Some(cpu) = cpu {
        svg::text(svg, &kind.class, (row.left, middle(row, kind.size)), "start", &cpu.to_string());
    }
    signs(svg, note, row, kind.size);
    row.top += line;
    for text in note.lines.iter().filter(|_| kind.with_lines) {
        svg::text(svg, &kind.class, (row.left, middle(row, kind.size)), "start", text);
        row.top += line;
    }
    letters(svg, note, row, kind);
    if let Some(bar) = note.bar {
        draw_bar(svg, bar, area);
    }
}

/// The star of the best and the sign, from the right.
fn signs(svg: &mut Html, note: &CellNote, row: Area, size: f64) {
    let side = size * 0.75;
    let mut right = row.right();
    for is_star in [false, true] {
        let area =
            Area { left: right - side, top: row.top + (row.height - side) / 2.0, width: side, height: side };
        match (is_star, note.sign) {
            (true, _) if note.is_best => star(svg, area),
            (false, Some(sign)) => draw_sign(svg, sign, area),
            _ => continue,
        }
        right -= side + 1.0;
    }
}

fn letters(svg: &mut Html, note: &CellNote, below: Area, kind: &Type) {
    let (width, line) = (LETTER * kind.size, below.height);
    for (place, sign) in &note.letters {
        let (row, column) = ((place / LETTERS_IN_ROW) as f64, (place % LETTERS_IN_ROW) as f64);
        let (left, top) = (below.left + column * width, below.top + row * line);
        let chip = Area { left, top: top + 0.5, width: width - 1.0, height: line - 1.0 };
        svg::rectangle(svg, &format!("letter {}", sign.class()), chip, "");
        let text = Overlay::letter(*place).to_string();
        svg::text(svg, &kind.class, (left + 2.0, middle(chip, kind.size)), "start", &text);
        let side = kind.size * 0.6;
        let top = chip.top + (chip.height - side) / 2.0;
        draw_sign(svg, *sign, Area { left: chip.right() - side - 1.5, top, width: side, height: side });
    }
}

/// A sign, into a square.
pub(super) fn draw_sign(svg: &mut Html, sign: Sign, area: Area) {
    let (left, top, right, bottom) = (area.left, area.top, area.right(), area.bottom());
    let (across, down) = (left + area.width / 2.0, top + area.height / 2.0);
    match sign {
        Sign::Up => {
            svg::path(svg, "sign", &[(left, bottom), (right, bottom), (across, top), (left, bottom)], "")
        }
        Sign::Down => svg::path(svg, "sign", &[(left, top), (right, top), (across, bottom), (left, top)], ""),
        Sign::Level => {
            for share in [0.3, 0.7] {
                let y = top + area.height * share;
                svg::line(svg, "stroke", (left, y), (right, y));
            }
        }
        Sign::Open => {
            let size = area.height * 1.2;
            let class = if size < 9.0 { "n85" } else { "n105" };
            svg::text(svg, class, (across, middle(area, size.min(10.5))), "middle", "?");
        }
        Sign::Crossed => {
            svg::line(svg, "stroke", (left, top), (right, bottom));
            svg::line(svg, "stroke", (left, bottom), (right, top));
        }
        Sign::Origin => svg::dot(svg, "ring", (across, down), area.width * 0.4, ""),
    }
}

/// A star of five points, into a square.
fn star(svg: &mut Html, area: Area) {
    let (across, down) = (area.left + area.width / 2.0, area.top + area.height / 2.0);
    let point = |i: u32| {
        let radius = area.height / 2.0 * if i.is_multiple_of(2) { 1.15 } else { 0.46 };
        let angle = std::f64::consts::PI * (f64::from(i) / 5.0 - 0.5);
        (across + radius * angle.cos(), down + radius * angle.sin())
    };
    let points: Vec<(f64, f64)> = (0..=10).map(point).collect();
    svg::path(svg, "star", &points, "");
}

/// The bar on its track.
fn draw_bar(svg: &mut Html, bar: Bar, area: Area) {
    let track = Area {
        left: area.left + 2.0,
        top: area.bottom() - BAR - 0.5,
        width: area.width - 4.0,
        height: BAR - 1.0,
    };
    svg::rectangle(svg, "track", track, "");
    let width = track.width * bar.share.clamp(0.0, 1.0);
    svg::rectangle(svg, &format!("load h{}", bar.shade), Area { width, ..track }, "");
}

#[cfg(test)]
mod tests {
    use super::super::STYLE;
    use super::*;

    #[test]
    fn every_sign_has_a_class_of_its_own_and_is_more_than_a_colour() {
        let mut drawn: Vec<String> = Vec::new();
        for sign in Sign::ALL {
            let mut svg = Html::new();
            draw_sign(&mut svg, sign, Area { left: 0.0, top: 0.0, width: 8.0, height: 8.0 });
            drawn.push(svg.into_string());
        }
        let all = drawn.len();
        drawn.sort_unstable();
        drawn.dedup();
        assert_eq!(drawn.len(), all, "no two look alike in print: {drawn:?}");
        for coloured in [Sign::Up, Sign::Down, Sign::Level] {
            let rule = format!(".machine .{} {{ fill: #", coloured.class());
            assert_eq!(STYLE.matches(&rule).count(), 2, "{rule}, in light and in dark");
        }
    }
}
