//! Comma-separated values. Names in them come from outside: what drives a terminal is written out, and no name is a formula to a
//! spreadsheet. The writer quotes as RFC 4180 has it.

use std::io;

use super::Written;
use super::cell::{Cell, Value};
use crate::spreadsheet::no_formula;

pub(super) struct Csv<W: io::Write>(csv::Writer<W>);

impl<W: io::Write> Csv<W> {
    pub(super) fn begin(head: &[Cell], to: W) -> io::Result<Self> {
        // RFC 4180 ends lines with CR LF.
        let mut writer = csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).from_writer(to);
        writer.write_record(head.iter().map(|cell| no_formula(&cell.name)))?;
        Ok(Self(writer))
    }
}

impl<W: io::Write> Written<W> for Csv<W> {
    fn rows(&mut self, rows: Vec<Vec<Cell>>) -> io::Result<()> {
        for row in rows {
            self.0.write_record(row.iter().map(|cell| words(&cell.value)))?;
        }
        Ok(())
    }

    fn end(self: Box<Self>) -> io::Result<W> {
        self.0.into_inner().map_err(|e| e.into_error())
    }
}

fn words(value: &Value) -> String {
    fn or_empty<T: ToString>(value: Option<&T>) -> String {
        value.map_or(String::new(), T::to_string)
    }
    match value {
        Value::Text(text) => text.as_deref().map(no_formula).unwrap_or_default(),
        Value::Whole(number) | Value::Moment(number) => or_empty(number.as_ref()),
        Value::Signed(number) => or_empty(number.as_ref()),
        Value::Real(number) => or_empty(number.as_ref()),
        Value::Truth(truth) => or_empty(truth.as_ref()),
    }
}
