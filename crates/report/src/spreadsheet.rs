//! Text that spreadsheets show and do not compute.

use crate::visible;

/// Spreadsheets take what begins with one of these for a formula, which may start programs; some take their wide forms, too.
const BEGINNINGS: [char; 8] = ['=', '+', '-', '@', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

/// A name from outside as a cell of comma-separated values, on one line: what drives a terminal is written out, so that one that begins
/// with a tab or a carriage return begins with a backslash. Where a comma is the sign of decimals, cells end at semicolons, whatever is
/// quoted by the comma: what follows one is guarded as well.
pub(crate) fn no_formula(text: &str) -> String {
    let line = visible::one_line(text);
    let guarded = |cell: &str| if is_formula(cell) { format!("'{cell}") } else { cell.to_string() };
    line.split(';').map(guarded).collect::<Vec<_>>().join(";")
}

/// Numbers stay numbers.
fn is_formula(cell: &str) -> bool {
    let begins = cell.trim_start_matches(['"', ' ']).starts_with(BEGINNINGS);
    begins && !cell.parse::<f64>().is_ok_and(f64::is_finite)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_is_a_formula_and_numbers_stay_numbers() {
        for formula in
            ["=cmd|' /C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "-", "=1", "-inf", " =1", "\"=1", "\u{ff1d}1"]
        {
            assert_eq!(no_formula(formula), format!("'{formula}"));
        }
        for text in ["-5", "+1.5e3", "nginx", "a=b", "", "a;b", ";", "1;-5"] {
            assert_eq!(no_formula(text), text);
        }
        assert_eq!(no_formula("\t=1\r\n\x1b[2J"), "\\t=1\\r\\n\\u{1b}[2J");
    }

    #[test]
    fn what_a_semicolon_makes_a_cell_is_no_formula_either() {
        assert_eq!(no_formula("a;=1+1;\"@x"), "a;'=1+1;'\"@x");
    }
}
