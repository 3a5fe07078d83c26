//! A table of counts by CPU that a probe reads in every frame: only what moved is parsed and booked.

use std::borrow::Cow;

use machine::procfs::table::{Outcome, Table};
use machine::{Missing, Root};

use crate::handles::Piece;
use crate::rows::Rows;

/// The last text of a table (see [`Table`]), and the rows of the recording that its rows are.
#[derive(Default)]
pub(crate) struct KeptTable {
    table: Table,
    /// Numbers of the booked rows, in order.
    ids: Vec<u32>,
    /// For each row of the text, its place in `ids`.
    places: Vec<Option<usize>>,
}

/// What became of one row of the text.
pub(crate) struct Booked {
    /// Number of the row in the recording; `None` if it has no counts.
    pub id: Option<u32>,
    /// Counts that it has in the text.
    pub columns: usize,
}

impl KeptTable {
    /// Reads the file. With [`Outcome::Other`] its text must be parsed and each row booked, then [`KeptTable::learn`] be called.
    ///
    /// # Errors
    /// What to note when it cannot be read.
    pub fn read(&mut self, root: &Root, path: &str, into: &mut Rows) -> Result<Outcome, Missing> {
        let table = &mut self.table;
        let answer = into.pieces(root, path, |piece| match piece {
            Piece::Start => table.begin(),
            Piece::Lines(lines) => table.take(lines),
        });
        match answer {
            Ok(()) => Ok(self.table.end()),
            Err(missing) => {
                self.table.forget();
                Err(missing)
            }
        }
    }

    /// Books what moved; `column`: which value of its row a column of the text is, if it is any. False if the rows
    /// are not those of the frame before: then all is to be parsed and booked.
    pub fn book_moved(&mut self, into: &mut Rows, column: impl Fn(usize) -> Option<usize>) -> bool {
        let places = &self.places;
        let cells = self.table.moved().iter().filter_map(|moved| {
            let place = (*places.get(moved.row as usize)?)?;
            Some((place, column(moved.column as usize)?, moved.count))
        });
        let booked = into.again(&self.ids, cells);
        if booked {
            self.table.clear_moved();
        }
        booked
    }

    /// The text as it was read last; what is no UTF-8 becomes U+FFFD.
    pub fn text(&self) -> Cow<'_, str> {
        String::from_utf8_lossy(self.table.text())
    }

    /// Learns what was booked for each row of the text, in order.
    pub fn learn(&mut self, booked: &[Booked]) {
        self.table.learn(booked.iter().map(|row| row.columns));
        self.ids.clear();
        self.places.clear();
        for row in booked {
            self.places.push(row.id.map(|_| self.ids.len()));
            self.ids.extend(row.id);
        }
        let mut ids = self.ids.clone();
        ids.sort_unstable();
        ids.dedup();
        if ids.len() < self.ids.len() {
            // Two rows of one name and label: which of them moved is found the careful way.
            self.forget();
        }
    }

    /// Takes the next text for another one.
    pub fn forget(&mut self) {
        self.table.forget();
        self.ids.clear();
        self.places.clear();
    }
}
