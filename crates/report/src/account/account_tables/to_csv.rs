//! Comma-separated values. Names in them come from outside: what drives a terminal is written out, and no name is a formula to a
//! spreadsheet. The writer quotes as RFC 4180 has it.

use std::io;

use machine::Outside;

use super::Written;
use super::cell::{Cell, Value};

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

/// A text that spreadsheets show and do not compute: they take what begins with one of these for a formula, which may start programs. One
/// that begins with a tab or a carriage return begins with a backslash by now.
fn no_formula(text: &str) -> String {
    let line = Outside(text).one_line();
    let is_formula = line.starts_with(['=', '+', '-', '@']) && line.parse::<f64>().is_err();
    if is_formula { format!("'{line}") } else { line.into_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_a_formula_and_numbers_stay_numbers() {
        for formula in ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "-", "=1"] {
            assert_eq!(no_formula(formula), format!("'{formula}"));
        }
        for text in ["-5", "+1.5e3", "nginx", "a=b", ""] {
            assert_eq!(no_formula(text), text);
        }
        assert_eq!(no_formula("\t=1\r\n\x1b[2J"), "\\t=1\\r\\n\\u{1b}[2J");
    }
}
