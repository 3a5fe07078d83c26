//! The data of a picture beside it: a link that saves them as comma-separated values. It holds them itself, so that it needs no script and
//! the page's policy stays as it is.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::Html;
use crate::spreadsheet::no_formula;

/// A cell of the data.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Cell {
    /// A name or a word; it may come from outside.
    Text(String),
    /// A number in full; empty where it is not known.
    Number(Option<f64>),
}

impl Cell {
    fn words(&self) -> String {
        match self {
            Self::Text(text) => no_formula(text),
            Self::Number(number) => number
                .filter(|number| number.is_finite())
                .map(|number| number.to_string())
                .unwrap_or_default(),
        }
    }
}

/// With more rows a link would be a large part of the page: such data stand in it once, for the viewer, whose link has all of them.
pub(crate) const MOST_ROWS: usize = 5_000;

/// Adds the link to the data of the picture `of`, which are saved as `file`.
pub(crate) fn data_link(html: &mut Html, of: &str, file: &str, heads: &[&str], rows: &[Vec<Cell>]) {
    let Some(text) = csv_text(heads, rows) else { return };
    let address = format!("data:text/csv;charset=utf-8;base64,{}", STANDARD.encode(text));
    let label = format!("Data as CSV: {of}");
    html.within("p", &[("class", &"csv")], |line| {
        line.element("a", &[("href", &address), ("download", &file), ("aria-label", &label)], "Data as CSV");
    });
}

/// The data as RFC 4180 has them; `None` where the writer fails, which in memory it does not.
fn csv_text(heads: &[&str], rows: &[Vec<Cell>]) -> Option<Vec<u8>> {
    let to = Vec::new();
    let mut writer =
        csv::WriterBuilder::new().terminator(csv::Terminator::CRLF).flexible(true).from_writer(to);
    writer.write_record(heads.iter().map(|head| no_formula(head))).ok()?;
    for row in rows {
        writer.write_record(row.iter().map(Cell::words)).ok()?;
    }
    writer.into_inner().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_in_full_names_are_no_formulas_and_what_is_not_known_is_empty() {
        let text = |text: &str| Cell::Text(text.into());
        let rows = [
            vec![text("=cmd|\"x\",1"), Cell::Number(Some(-23.75))],
            vec![text("cpu 5\n"), Cell::Number(None)],
            vec![text(""), Cell::Number(Some(f64::NAN))],
        ];
        let csv = csv_text(&["arm", "change, %"], &rows).unwrap();
        let expected = "arm,\"change, %\"\r\n\"'=cmd|\"\"x\"\",1\",-23.75\r\ncpu 5\\n,\r\n,\r\n";
        assert_eq!(String::from_utf8(csv).unwrap(), expected);
    }

    #[test]
    fn the_link_holds_its_data_and_needs_no_script() {
        let mut html = Html::new();
        data_link(&mut html, "a \"picture\"", "bars.csv", &["a"], &[vec![Cell::Number(Some(1.0))]]);
        let address = STANDARD.encode("a\r\n1\r\n");
        assert!(html.as_str().contains(&format!("href=\"data:text/csv;charset=utf-8;base64,{address}\"")));
        assert!(
            html.as_str().contains("download=\"bars.csv\" aria-label=\"Data as CSV: a &quot;picture&quot;\"")
        );
    }
}
