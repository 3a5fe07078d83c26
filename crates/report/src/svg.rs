//! Small drawings: scales with round ticks, axes, and the frame that makes a drawing accessible.

mod axis;
mod scale;

pub use axis::{Side, draw as draw_axis};
pub use scale::{Scale, Tick};

use crate::markup::{Attributes, Html};

/// A rectangle of the drawing, in user units.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Area {
    /// Left edge.
    pub left: f64,
    /// Upper edge.
    pub top: f64,
    /// Width.
    pub width: f64,
    /// Height.
    pub height: f64,
}

impl Area {
    /// Right edge.
    pub fn right(&self) -> f64 {
        self.left + self.width
    }

    /// Lower edge.
    pub fn bottom(&self) -> f64 {
        self.top + self.height
    }
}

/// A coordinate with two digits after the point at most: a tenth of a pixel is enough, and files stay small.
pub fn coordinate(value: f64) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map(str::to_string).unwrap_or(text)
}

/// A drawing of `width` by `height` that scales with the page, with a title and a description for those who cannot see it.
pub fn drawing(
    width: f64,
    height: f64,
    title: &str,
    description: &str,
    inside: impl FnOnce(&mut Html),
) -> Html {
    let view_box = format!("0 0 {} {}", coordinate(width), coordinate(height));
    let (width, height) = (coordinate(width), coordinate(height));
    let mut html = Html::new();
    html.scrolled("div", "drawing", "group", title, |frame| {
        let attributes: Attributes = &[
            ("viewBox", &view_box),
            ("width", &width),
            ("height", &height),
            ("role", &"img"),
            ("aria-label", &title),
        ];
        frame.within("svg", attributes, |svg| {
            svg.element("desc", &[], description);
            inside(svg);
        });
    });
    html
}

/// A line from point to point.
pub fn line(svg: &mut Html, class: &str, (x1, y1): (f64, f64), (x2, y2): (f64, f64)) {
    let [x1, y1, x2, y2] = [x1, y1, x2, y2].map(coordinate);
    svg.empty("line", &[("class", &class), ("x1", &x1), ("y1", &y1), ("x2", &x2), ("y2", &y2)]);
}

/// A rectangle with a title that shows when the pointer rests on it.
pub fn rectangle(svg: &mut Html, class: &str, area: Area, title: &str) {
    let [x, y, w, h] = [area.left, area.top, area.width.max(0.0), area.height.max(0.0)].map(coordinate);
    svg.within("rect", &[("class", &class), ("x", &x), ("y", &y), ("width", &w), ("height", &h)], |rect| {
        titled(rect, title)
    });
}

/// A dot with a title.
pub fn dot(svg: &mut Html, class: &str, (x, y): (f64, f64), radius: f64, title: &str) {
    let [x, y, r] = [x, y, radius].map(coordinate);
    svg.within("circle", &[("class", &class), ("cx", &x), ("cy", &y), ("r", &r)], |dot| titled(dot, title));
}

/// Text at a point; `anchor` is `start`, `middle` or `end`.
pub fn text(svg: &mut Html, class: &str, (x, y): (f64, f64), anchor: &'static str, text: &str) {
    let [x, y] = [x, y].map(coordinate);
    svg.element("text", &[("class", &class), ("x", &x), ("y", &y), ("text-anchor", &anchor)], text);
}

/// A line through points, with a title.
pub fn path(svg: &mut Html, class: &str, points: &[(f64, f64)], title: &str) {
    let mut d = String::new();
    for (i, (x, y)) in points.iter().enumerate() {
        d.push(if i == 0 { 'M' } else { 'L' });
        d.push_str(&coordinate(*x));
        d.push(' ');
        d.push_str(&coordinate(*y));
    }
    svg.within("path", &[("class", &class), ("d", &d)], |path| titled(path, title));
}

fn titled(element: &mut Html, title: &str) {
    if !title.is_empty() {
        element.element("title", &[], title);
    }
}
