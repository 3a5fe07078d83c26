//! Axes: a grid line and a label a tick, and a title.

use super::{Area, Scale, line, text};
use crate::markup::Html;

/// Where an axis stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    /// Left of the area: values upward.
    Left,
    /// Below the area: values to the right.
    Bottom,
}

/// Draws grid lines over `area` and labels beside it. The title of a left axis stands above it, unturned.
pub fn draw(svg: &mut Html, area: Area, scale: &Scale, side: Side, wanted: usize, title: &str) {
    for tick in scale.ticks(wanted) {
        let at = scale.place(tick.value);
        match side {
            Side::Left => {
                line(svg, "grid", (area.left, at), (area.right(), at));
                text(svg, "tick", (area.left - 6.0, at + 4.0), "end", &tick.label);
            }
            Side::Bottom => {
                line(svg, "grid", (at, area.top), (at, area.bottom()));
                text(svg, "tick", (at, area.bottom() + 16.0), "middle", &tick.label);
            }
        }
    }
    match side {
        Side::Left => text(svg, "axis", (0.0, area.top - 10.0), "start", title),
        Side::Bottom => text(svg, "axis", (area.right(), area.bottom() + 34.0), "end", title),
    }
}
