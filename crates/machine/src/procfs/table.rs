//! A table of counts by CPU that is read again and again (/proc/interrupts, /proc/softirqs): what moved since the last
//! reading, at the price of comparing bytes.
//!
//! On 1,024 CPUs and 4,096 interrupt lines the text has 46 MB and 4 million numbers, of which a few thousand move in a
//! second. The kernel prints each in a field of fixed width (`" %10u"` in show_interrupts of kernel/irq/proc.c and in
//! fs/proc/softirqs.c, `"%10u "` behind `": "` in arch/x86/kernel/irq.c, which is the same grid). So the last text is
//! kept, the new one is compared with it piece by piece, and only cells that differ are parsed. Whatever differs
//! outside of a cell, or is no number in one, makes the whole text go through the parser, which decides what it is.

use std::ops::Range;

/// Width of a cell: a blank and ten characters.
pub const CELL_BYTES: usize = 11;

/// Bytes that are compared at once.
const BLOCK_BYTES: usize = 64;

/// A count that is not what it was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Moved {
    /// Row of the table, from 0, in the order of the file.
    pub row: u32,
    /// Column of the row, from 0; 0 for a row with one count for the whole system.
    pub column: u32,
    /// What it reads now.
    pub count: u64,
}

/// What a reading came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Rows and columns stand as they stood; [`Table::moved`] has the counts that differ.
    Same,
    /// Something else changed, or nothing was known before: parse [`Table::text`], then call [`Table::learn`].
    Other,
}

/// The last text of a table, and where its cells are. Takes as much memory as the text.
#[derive(Debug, Default)]
pub struct Table {
    text: Vec<u8>,
    rows: Vec<Row>,
    /// Whether `rows` describes `text`.
    learnt: bool,
    /// How far the new text equals `text`, where it did not turn out another; `text` ends there otherwise.
    at: usize,
    other: bool,
    /// The row that is looked at: counts are met in the order of the text.
    row: usize,
    moved: Vec<Moved>,
}

/// Where the cells of a row are in the text. A row whose counts are not in the grid has none: it may not change.
#[derive(Debug, Clone, Copy)]
struct Row {
    start: usize,
    columns: usize,
}

impl Row {
    fn cells(&self) -> Range<usize> {
        self.start..self.start + self.columns * CELL_BYTES
    }
}

impl Table {
    /// Begins a reading. Counts that moved in earlier ones are kept until [`Table::clear_moved`], so that a reading that
    /// is repeated loses nothing.
    pub fn begin(&mut self) {
        self.at = 0;
        self.row = 0;
        self.other = !self.learnt;
        if self.other {
            self.forget();
        }
    }

    /// Takes the next piece of the text. A piece ends with a line, but for the last one.
    pub fn take(&mut self, piece: &[u8]) {
        let mut piece = piece;
        while !self.other {
            let kept = &self.text[self.at..];
            let common = piece.len().min(kept.len());
            match first_difference(&piece[..common], &kept[..common]) {
                None if common == piece.len() => {
                    self.at += common;
                    return;
                }
                None => {
                    self.at += common;
                    piece = &piece[common..];
                    self.differ();
                }
                Some(offset) => match self.cell(offset, piece) {
                    Some(taken) => piece = &piece[taken..],
                    None => {
                        self.at += offset;
                        piece = &piece[offset..];
                        self.differ();
                    }
                },
            }
        }
        self.text.extend_from_slice(piece);
    }

    /// Ends the reading.
    pub fn end(&mut self) -> Outcome {
        if !self.other && self.at < self.text.len() {
            self.differ();
        }
        match self.other {
            true => Outcome::Other,
            false => Outcome::Same,
        }
    }

    /// The text as it was read last.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Counts that moved, in the order in which they were met; one may be there several times, the last is the newest.
    pub fn moved(&self) -> &[Moved] {
        &self.moved
    }

    /// Forgets the counts that moved: they have been booked.
    pub fn clear_moved(&mut self) {
        self.moved.clear();
    }

    /// Forgets everything: the next text is another one.
    pub fn forget(&mut self) {
        self.text.clear();
        self.rows.clear();
        self.learnt = false;
        self.other = true;
        self.moved.clear();
    }

    /// Learns where the cells of the text are that was parsed: for each of its rows (lines behind the header that are
    /// not blank) the number of counts that the parser found, in order. Rows that are not in the grid stay without cells.
    pub fn learn(&mut self, columns: impl IntoIterator<Item = usize>) {
        self.rows.clear();
        self.moved.clear();
        let mut columns = columns.into_iter();
        let mut start = 0;
        for (number, line) in self.text.split_inclusive(|b| *b == b'\n').enumerate() {
            if number > 0 && !line.trim_ascii().is_empty() {
                let Some(columns) = columns.next() else { return self.forget() };
                let inside = cells_of(line, columns);
                self.rows.push(Row { start: start + inside.start, columns: inside.len() / CELL_BYTES });
            }
            start += line.len();
        }
        self.learnt = columns.next().is_none();
    }

    /// The new text is another one from `at` on.
    fn differ(&mut self) {
        self.text.truncate(self.at);
        self.other = true;
        self.learnt = false;
        self.moved.clear();
    }

    /// Takes the cell in which `piece` differs at `offset`: its count is booked, and `at` stands behind it. Answers how
    /// many bytes of the piece were taken; `None` if there is no cell, or no number in it.
    fn cell(&mut self, offset: usize, piece: &[u8]) -> Option<usize> {
        let place = self.at + offset;
        while self.rows.get(self.row)?.cells().end <= place {
            self.row += 1;
        }
        let row = self.rows[self.row];
        let column = place.checked_sub(row.start)? / CELL_BYTES;
        let start = row.start + column * CELL_BYTES;
        // The cell may have begun before the bytes that are being compared: those in front are the same as before.
        let cell = start.checked_sub(self.at).and_then(|from| piece.get(from..from + CELL_BYTES))?;
        let count = number(cell)?;
        self.text[start..start + CELL_BYTES].copy_from_slice(cell);
        self.moved.push(Moved { row: self.row as u32, column: column as u32, count });
        let taken = start + CELL_BYTES - self.at;
        self.at = start + CELL_BYTES;
        Some(taken)
    }
}

/// Where the cells of a line are if it has the grid: `columns` numbers right behind the colon, and then no digit.
fn cells_of(line: &[u8], columns: usize) -> Range<usize> {
    let Some(colon) = line.iter().position(|b| *b == b':') else { return 0..0 };
    let cells = colon + 1..colon + 1 + columns * CELL_BYTES;
    let Some(bytes) = line.get(cells.clone()) else { return 0..0 };
    let set_off = line.get(cells.end).is_none_or(|b| matches!(b, b' ' | b'\t' | b'\n'));
    match set_off && bytes.chunks_exact(CELL_BYTES).all(|cell| number(cell).is_some()) {
        true => cells,
        false => 0..0,
    }
}

/// The number in a cell: blanks, at least one, and digits up to its end.
fn number(cell: &[u8]) -> Option<u64> {
    let blanks = cell.iter().take_while(|b| **b == b' ').count();
    let digits = &cell[blanks..];
    if blanks == 0 || digits.is_empty() {
        return None;
    }
    // Ten digits at most: no overflow.
    digits
        .iter()
        .try_fold(0u64, |value, digit| digit.is_ascii_digit().then(|| value * 10 + u64::from(digit - b'0')))
}

/// Where two texts of one length differ first.
fn first_difference(a: &[u8], b: &[u8]) -> Option<usize> {
    let blocks = a.as_chunks::<BLOCK_BYTES>().0.iter().zip(b.as_chunks::<BLOCK_BYTES>().0);
    let start = blocks.take_while(|(block, other)| is_same(block, other)).count() * BLOCK_BYTES;
    let byte = a[start..].iter().zip(&b[start..]).position(|(x, y)| x != y)?;
    Some(start + byte)
}

/// `==` is memcmp(3), which in the static binary goes byte by byte (musl), thirty times slower than glibc's. This is
/// compiled into vector instructions and runs as fast as memory does.
fn is_same(a: &[u8; BLOCK_BYTES], b: &[u8; BLOCK_BYTES]) -> bool {
    a.iter().zip(b).fold(0, |differs, (x, y)| differs | (x ^ y)) == 0
}

#[cfg(test)]
mod tests;
