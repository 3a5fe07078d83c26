//! Columns that are as wide as their cells, with colour where the terminal has it.

use crate::display_width;

use super::wrap::wrap;
use crate::terminal_style::Style;

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

/// Narrowest first column that names are put above their rows for, characters.
const LEAST_NAME: usize = 14;

/// Prints the table. Where it is wider than the terminal, names (the first column) that have no room stand above their rows, whole: cut
/// ones would look alike.
pub fn print(table: &Table, style: Style) -> String {
    let widths = widths(table, style);
    let taken: usize = widths.iter().map(|w| w + 2).sum();
    let room = style.width.saturating_sub(taken);
    let why_beside = room >= LEAST_WHY && table.rows.iter().any(|r| !r.why.is_empty());
    let mut out = heads(table, &widths, why_beside, style);
    for row in &table.rows {
        let above = row.cells.first().filter(|name| name.width() > widths[0]);
        out.push_str(&above.map(|name| lines(name, style)).unwrap_or_default());
        let mut line = cells(table, row, &widths, style).join("  ");
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

/// Each column as wide as its widest cell; of the first one as wide as the terminal leaves room for.
fn widths(table: &Table, style: Style) -> Vec<usize> {
    let heads: Vec<usize> = table.heads.iter().map(|head| display_width::width(&head.name)).collect();
    let mut widths: Vec<usize> =
        heads.iter().enumerate().map(|(i, head)| widths_in(table, i).max().unwrap_or(0).max(*head)).collect();
    let others: usize = widths.iter().skip(1).map(|width| width + 2).sum();
    let room = style.width.saturating_sub(others).max(LEAST_NAME);
    if let (Some(first), Some(head), false) = (widths.first_mut(), heads.first(), is_of_numbers(table))
        && *first > room
    {
        *first = widths_in(table, 0).filter(|width| *width <= room).max().unwrap_or(0).max(*head);
    }
    widths
}

/// How wide the cells of a column are.
fn widths_in(table: &Table, column: usize) -> impl Iterator<Item = usize> {
    table.rows.iter().filter_map(move |row| row.cells.get(column)).map(Cell::width)
}

/// Whether its first column is one of numbers and not of names.
fn is_of_numbers(table: &Table) -> bool {
    table.heads.first().is_some_and(|head| head.right)
}

/// The cells of a row as wide as their columns; a name that is wider than its column stands above.
fn cells(table: &Table, row: &Row, widths: &[usize], style: Style) -> Vec<String> {
    let cell = |(i, cell): (usize, &Cell)| {
        if i == 0 && cell.width() > widths[0] {
            return " ".repeat(widths[0]);
        }
        let gap = " ".repeat(widths[i].saturating_sub(cell.width()));
        let painted = cell.painted(style);
        if table.heads[i].right { format!("{gap}{painted}") } else { format!("{painted}{gap}") }
    };
    row.cells.iter().enumerate().map(cell).collect()
}

/// A cell as lines of its own.
fn lines(cell: &Cell, style: Style) -> String {
    let painted = |line: String| Cell::coloured(line, cell.colour).painted(style) + "\n";
    wrap(&cell.text, style.width).into_iter().map(painted).collect()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(names: &[&str], width: usize) -> String {
        let head = |name: &str, right| Head { over: String::new(), name: name.into(), right };
        let row = |name: &&str| {
            let cells = vec![Cell::plain(*name), Cell::plain("16,652"), Cell::plain("+12.3 % [+9.8, +15.4]")];
            Row { cells, why: String::new() }
        };
        let heads = vec![head("arm", false), head("mean", true), head("change", true)];
        print(&Table { heads, rows: names.iter().map(row).collect() }, Style { colour: false, width })
    }

    #[test]
    fn a_name_without_room_stands_whole_above_its_row() {
        let names =
            ["unpinned", "1 CPU; operation bind; keep_alive true", "1 CPU; operation bind; keep_alive false"];
        let narrow = printed(&names, 60);
        let expected = "
arm         mean                 change
unpinned  16,652  +12.3 % [+9.8, +15.4]
1 CPU; operation bind; keep_alive true
          16,652  +12.3 % [+9.8, +15.4]
1 CPU; operation bind; keep_alive false
          16,652  +12.3 % [+9.8, +15.4]
";
        assert_eq!(narrow, expected);
        assert!(printed(&names, 80).contains("\n1 CPU; operation bind; keep_alive false  16,652  +12.3 %"));
    }

    #[test]
    fn every_line_fits_and_no_name_is_lost() {
        let names = ["a b c d e f g h i j k l m n o p q r s t u v w x y z", "one", "a name of four words"];
        for width in 60..120 {
            let text = printed(&names, width);
            assert!(text.lines().all(|line| line.len() <= width), "{text}");
            assert!(names.iter().all(|name| text.contains(name)), "{text}");
        }
    }
}
