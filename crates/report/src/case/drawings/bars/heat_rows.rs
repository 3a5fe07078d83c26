//! The interrupt heat: one row a counter, in the columns of the bars above.

use super::{LEFT, Layout};
use crate::case::heat::{Heat, Row, shade};
use crate::svg::{self, Area};
use crate::{Html, number};

const ROW_HEIGHT: f64 = 22.0;
const COMPACT_ROW_HEIGHT: f64 = 16.0;
const HEAD: f64 = 14.0;

/// Longest row title that fits to the left of the columns, characters.
const LONGEST_TITLE: usize = 31;

/// Height that the rows take.
pub(super) fn height(heat: &Heat) -> f64 {
    if heat.rows.is_empty() { 0.0 } else { HEAD + ROW_HEIGHT * heat.rows.len() as f64 + 6.0 }
}

/// Draws the rows below `top`.
pub(super) fn draw(svg: &mut Html, layout: &Layout, heat: &Heat, top: f64) {
    if heat.rows.is_empty() {
        return;
    }
    svg::text(svg, "axis", (0.0, top), "start", "interrupts per second on that CPU");
    let step = if layout.compact { COMPACT_ROW_HEIGHT } else { ROW_HEIGHT };
    for (i, row) in heat.rows.iter().enumerate() {
        let y = top + HEAD + step * i as f64;
        draw_row(svg, layout, heat, row, y, step);
    }
}

fn draw_row(svg: &mut Html, layout: &Layout, heat: &Heat, row: &Row, y: f64, step: f64) {
    let title = match row.is_time {
        true => format!("{}, %", row.title()),
        false => row.title(),
    };
    svg::text(svg, "tick", (LEFT - 10.0, y + step * 0.68), "end", &shortened(&title));
    for column in &layout.columns {
        let Some(index) = column.cpu.and_then(|cpu| heat.cpus.iter().position(|c| *c == cpu)) else {
            continue;
        };
        let gap = if layout.compact { 0.0 } else { 1.0 };
        let cell =
            Area { left: column.x + gap, top: y + 1.0, width: layout.step - 2.0 * gap, height: step - 2.0 };
        let Some(share) = row.share(index, heat.cost) else {
            let text = format!("{} on {}: not known", row.title(), column.name);
            svg::rectangle(svg, "cell unknown", cell, &text);
            continue;
        };
        let mut text = format!("{} on {}: {} {}", row.title(), column.name, row.shown(index), row.unit());
        if !row.is_time {
            text.push_str(&format!(", at {:.1} us each {} of the CPU", heat.cost.us, number::share(share)));
        }
        // Ten steps of one colour: the style sheet has them for light and dark.
        let level = shade(share);
        svg::rectangle(svg, &format!("cell h{level}"), cell, &text);
        if !layout.compact {
            let class = if level >= 6 { "cell-text on" } else { "cell-text" };
            svg::text(svg, class, (layout.middle(column), y + step * 0.68), "middle", &row.shown(index));
        }
    }
}

fn shortened(title: &str) -> String {
    match title.chars().count() <= LONGEST_TITLE {
        true => title.into(),
        false => title.chars().take(LONGEST_TITLE - 1).chain("\u{2026}".chars()).collect(),
    }
}
