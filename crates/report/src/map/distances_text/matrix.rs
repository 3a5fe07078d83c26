//! A table from node to node.

use machine::distances::{Estimate, MemoryCell, MemoryDistances};

use super::figures::with_interval;
use super::shade::{STEPS, Shades, painted};
use crate::terminal_style::Style;

/// Which figure of a cell.
pub(super) type Figure = fn(&MemoryCell) -> Option<&Estimate>;

/// Which end of the figures is the good one, and pale.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Better {
    Low,
    High,
}

/// The table with its title in its corner; nothing where no cell has the figure. It is cut into parts where the width is too small.
pub(super) fn table(
    memory: &MemoryDistances,
    title: &str,
    figure: Figure,
    better: Better,
    style: Style,
) -> String {
    let mut rows: Vec<u32> = memory.cells.iter().map(|cell| cell.from).collect();
    let mut columns: Vec<u32> = memory.cells.iter().map(|cell| cell.memory).collect();
    for nodes in [&mut rows, &mut columns] {
        nodes.sort_unstable();
        nodes.dedup();
    }
    let of = |row: u32, column: u32| {
        memory.cells.iter().find(|cell| (cell.from, cell.memory) == (row, column)).and_then(figure)
    };
    let Some(shades) = Shades::of(memory.cells.iter().filter_map(figure).map(|estimate| estimate.median))
    else {
        return String::new();
    };
    let cell = |row: u32, column: u32| of(row, column).map_or("?".into(), with_interval);
    let all = || rows.iter().flat_map(|row| columns.iter().map(move |column| (*row, *column)));
    let width = all().map(|(row, column)| cell(row, column).len()).max().unwrap_or(0).max(8) + 2;
    let margin = title.len().max(8) + 4;
    let at_once = (style.width.saturating_sub(margin) / width).max(1);
    let mut text = String::new();
    for columns in columns.chunks(at_once) {
        let heads: String =
            columns.iter().map(|node| format!("{:>width$}", format!("node {node}"))).collect();
        text += &format!("{:<margin$}{heads}\n", format!("  {title}"));
        for row in &rows {
            text += &format!("{:<margin$}", format!("    node {row}"));
            for column in columns {
                let words = format!("{:>width$}", cell(*row, *column));
                let step = of(*row, *column).map(|estimate| shades.step(estimate.median));
                let step = step.map(|step| if better == Better::Low { step } else { STEPS - 1 - step });
                text += &step.map_or(words.clone(), |step| painted(&words, step, style));
            }
            text.push('\n');
        }
    }
    text
}
