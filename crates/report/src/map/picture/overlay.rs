//! What is written into the cells of CPUs beside their numbers: a sign, lines of text, letters of placements, and a bar.

use std::collections::BTreeMap;

use super::measure;

/// What a sign says, by its shape; its colour says the same.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sign {
    /// More of what is wanted: a triangle that points up.
    Up,
    /// Less of it: a triangle that points down.
    Down,
    /// As much: two level lines.
    Level,
    /// Not known which: a question mark, and no colour.
    Open,
    /// Not what it was to be: a cross, and no colour.
    Crossed,
    /// What the others are held against: a ring, and no colour.
    Origin,
}

impl Sign {
    /// All signs, in the order of a legend.
    pub const ALL: [Self; 6] = [Self::Down, Self::Up, Self::Level, Self::Open, Self::Crossed, Self::Origin];

    /// Style class.
    pub(super) fn class(self) -> &'static str {
        match self {
            Self::Up => "up",
            Self::Down => "down",
            Self::Level => "level",
            Self::Open => "open",
            Self::Crossed => "crossed",
            Self::Origin => "origin",
        }
    }
}

/// A share of something, drawn as a bar along the lower edge of a cell.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Bar {
    /// How long it is, 0 to 1 of the cell's width.
    pub share: f64,
    /// Its step of colour, 0 to 9.
    pub shade: usize,
}

/// What is written into one cell.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct CellNote {
    /// The sign beside the number, which also fills the cell.
    pub sign: Option<Sign>,
    /// Whether the cell is marked as the best.
    pub is_best: bool,
    /// Lines below the number; left out of machines with too many CPUs for text.
    pub lines: Vec<String>,
    /// The letters that stand in this cell, each by its place among all letters, with its sign.
    pub letters: Vec<(usize, Sign)>,
    /// The bar.
    pub bar: Option<Bar>,
    /// What follows the CPU's place in its tooltip; empty for nothing.
    pub title: String,
}

/// What is written into the cells of a machine.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Overlay {
    /// By CPU.
    pub cells: BTreeMap<u32, CellNote>,
    /// Letters that may stand in a cell; each has the same place in every cell.
    pub letters: usize,
}

/// Room within a cell around what is written there.
pub(super) const PAD: f64 = 3.0;
/// Height of a bar, and the room above it.
pub(super) const BAR: f64 = 4.0;
/// Letters beside each other.
pub(super) const LETTERS_IN_ROW: usize = 2;
/// Numbers of type sizes that a letter with its sign takes in width.
pub(super) const LETTER: f64 = 2.0;

/// Fonts that viewers take where those of the style sheet are missing are wider.
const WIDER: f64 = 1.15;

/// Height of a line of type of `size`.
pub(super) fn line(size: f64) -> f64 {
    size + 2.0
}

impl Overlay {
    /// The letter at a place among all letters: A to Z, and then nothing.
    pub fn letter(place: usize) -> char {
        u8::try_from(place).ok().filter(|place| *place < 26).map_or(' ', |place| char::from(b'A' + place))
    }

    /// The size of a cell whose number takes `number_width` in type of `size`, with its lines of text or without.
    pub(super) fn cell(&self, number_width: f64, size: f64, with_lines: bool) -> (f64, f64) {
        let notes = || self.cells.values();
        let has_mark = notes().any(|note| note.sign.is_some() || note.is_best);
        let marks = if has_mark { 2.0 * size } else { 0.0 };
        let texts = notes().flat_map(|note| &note.lines).filter(|_| with_lines);
        let widest = texts.map(|text| measure::width(text, size, false) * WIDER).fold(0.0, f64::max);
        let lines = notes().map(|note| note.lines.len()).filter(|_| with_lines).max().unwrap_or(0);
        let letters = self.letters.min(LETTERS_IN_ROW) as f64 * LETTER * size;
        let rows = lines + self.letters.div_ceil(LETTERS_IN_ROW);
        let bar = if notes().any(|note| note.bar.is_some()) { BAR } else { 0.0 };
        let width = (number_width + marks).max(widest).max(letters) + 2.0 * PAD;
        (width.ceil(), (line(size) * (1 + rows) as f64 + bar + PAD).ceil())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_has_room_for_all_that_is_written_there() {
        let note = CellNote {
            sign: Some(Sign::Down),
            lines: vec!["-23.7 %".into(), "irq 100 %".into()],
            bar: Some(Bar { share: 1.0, shade: 9 }),
            ..CellNote::default()
        };
        let overlay = Overlay { cells: BTreeMap::from([(5, note)]), letters: 3 };
        let (width, height) = overlay.cell(12.0, 10.0, true);
        assert!(width >= measure::width("irq 100 %", 10.0, false) && width >= 2.0 * LETTER * 10.0);
        assert!(height >= 5.0 * 12.0 + BAR, "a number, two lines, two rows of letters, and a bar");
        let (narrow, low) = overlay.cell(12.0, 10.0, false);
        assert!(narrow <= width && low == height - 2.0 * line(10.0));
    }

    #[test]
    fn letters_end_with_the_alphabet() {
        assert_eq!([0, 25, 26, usize::MAX].map(Overlay::letter), ['A', 'Z', ' ', ' ']);
    }
}
