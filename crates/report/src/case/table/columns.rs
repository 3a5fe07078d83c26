//! Columns that are as wide as their cells, with colour where the terminal has it.

use crate::display_width;

use super::style::Style;
use super::wrap::wrap;

/// What a cell's colour stands for; the words say the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    /// No colour.
    Plain,
    /// Headings.
    Bold,
    /// What matters less.
    Dim,
    /// Worse, or a failed control.
    Worse,
    /// Better.
    Better,
}

/// One cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    text: String,
    colour: Colour,
}

impl Cell {
    /// A cell without colour.
    pub fn plain(text: impl Into<String>) -> Self {
        Self::coloured(text, Colour::Plain)
    }

    /// A cell with colour.
    pub fn coloured(text: impl Into<String>, colour: Colour) -> Self {
        Self { text: text.into(), colour }
    }

    /// The text as the terminal gets it.
    pub fn painted(&self, style: Style) -> String {
        match (style.colour, self.colour) {
            (false, _) | (_, Colour::Plain) => self.text.clone(),
            (true, Colour::Bold) => format!("\x1b[1m{}\x1b[0m", self.text),
            (true, Colour::Dim) => format!("\x1b[2m{}\x1b[0m", self.text),
            // Orange-red and cyan: distinguished by all common kinds of colour blindness.
            (true, Colour::Worse) => format!("\x1b[1;31m{}\x1b[0m", self.text),
            (true, Colour::Better) => format!("\x1b[36m{}\x1b[0m", self.text),
        }
    }

    fn width(&self) -> usize {
        display_width::width(&self.text)
    }
}

/// A head of one column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Head {
    /// First line: what it is compared with.
    pub over: String,
    /// Second line: the column's name.
    pub name: String,
    /// Numbers stand to the right.
    pub right: bool,
}

/// A row and what is said about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// One a head.
    pub cells: Vec<Cell>,
    /// Why it is so; stands in a last column where there is room for one, else on a line below.
    pub why: String,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Heads, left to right.
    pub heads: Vec<Head>,
    /// Rows, top to bottom.
    pub rows: Vec<Row>,
}

/// Narrowest last column that is worth having, characters.
const LEAST_WHY: usize = 24;

/// Prints the table.
pub fn print(table: &Table, style: Style) -> String {
    let widths: Vec<usize> = (0..table.heads.len())
        .map(|i| {
            let head = display_width::width(&table.heads[i].name);
            table.rows.iter().filter_map(|r| r.cells.get(i)).map(Cell::width).max().unwrap_or(0).max(head)
        })
        .collect();
    let taken: usize = widths.iter().map(|w| w + 2).sum();
    let room = style.width.saturating_sub(taken);
    let why_beside = room >= LEAST_WHY && table.rows.iter().any(|r| !r.why.is_empty());
    let mut out = heads(table, &widths, why_beside, style);
    for row in &table.rows {
        let cells: Vec<String> = row
            .cells
            .iter()
            .enumerate()
            .map(|(i, cell)| {
                let gap = " ".repeat(widths[i].saturating_sub(cell.width()));
                let painted = cell.painted(style);
                if table.heads[i].right { format!("{gap}{painted}") } else { format!("{painted}{gap}") }
            })
            .collect();
        let mut line = cells.join("  ");
        let why = wrap(&row.why, if why_beside { room } else { style.width.saturating_sub(4) });
        if why_beside && !row.why.is_empty() {
            line.push_str("  ");
            line.push_str(&why.join(&format!("\n{}", " ".repeat(taken))));
        }
        out.push_str(line.trim_end());
        out.push('\n');
        if !why_beside && !row.why.is_empty() {
            out.push_str(&format!("  ^ {}\n", why.join("\n    ")));
        }
    }
    out
}

fn heads(table: &Table, widths: &[usize], why_beside: bool, style: Style) -> String {
    let mut over = String::new();
    let mut names = String::new();
    for (head, width) in table.heads.iter().zip(widths) {
        // A word above may reach over the columns to its right that have none.
        if !head.over.is_empty() {
            over = format!("{}{}", display_width::padded(&over, display_width::width(&names)), head.over);
        }
        let gap = " ".repeat(width.saturating_sub(display_width::width(&head.name)));
        names.push_str(&if head.right {
            format!("{gap}{}  ", head.name)
        } else {
            format!("{}{gap}  ", head.name)
        });
    }
    if why_beside {
        names.push_str("why");
    }
    let lines = [over.trim_end(), names.trim_end()].map(|l| Cell::coloured(l, Colour::Dim).painted(style));
    format!("{}\n{}\n", lines[0], lines[1])
}
