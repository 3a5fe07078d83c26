//! Columns of text, as wide as their widest cell.

use crate::display_width::width;
use crate::visible::one_line;

/// Where the text of a column stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    Left,
    Right,
}

/// Lines of the rows, each begun with `indent` blanks; the last column is not filled up. Rows may be shorter. A cell is one line.
pub(crate) fn lines(sides: &[Side], rows: &[Vec<String>], indent: usize) -> String {
    let length = |text: &String| width(&one_line(text));
    let widest = |column: usize| rows.iter().filter_map(|row| row.get(column).map(length)).max().unwrap_or(0);
    let widths: Vec<usize> = (0..sides.len()).map(widest).collect();
    let mut text = String::new();
    for row in rows {
        let mut line = " ".repeat(indent);
        for (column, cell) in row.iter().enumerate() {
            let (side, width) = (sides.get(column), widths.get(column).copied().unwrap_or(0));
            let filler = " ".repeat(width.saturating_sub(length(cell)));
            match side {
                Some(Side::Right) => line.push_str(&(filler + &one_line(cell))),
                _ => line.push_str(&(one_line(cell).into_owned() + &filler)),
            }
            line.push_str("  ");
        }
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_stand_below_each_other() {
        let rows = [vec!["a".to_string(), "100".into(), "x".into()], vec!["bcd".into(), "1".into()]];
        assert_eq!(lines(&[Side::Left, Side::Right, Side::Left], &rows, 1), " a    100  x\n bcd    1\n");
        assert_eq!(lines(&[], &[], 2), "");
        let wide = [vec!["数据库".to_string(), "1".into()], vec!["redis".into(), "2".into()]];
        assert_eq!(lines(&[Side::Left, Side::Left], &wide, 0), "数据库  1\nredis   2\n");
    }

    /// Rows whose cells are these names and figures.
    fn rows(names: Vec<String>) -> Vec<Vec<String>> {
        names.into_iter().map(|name| vec![name.clone(), "1".into(), name, "end".into()]).collect()
    }

    const SIDES: [Side; 4] = [Side::Left, Side::Right, Side::Right, Side::Left];

    proptest::proptest! {
        #[test]
        fn a_row_is_one_line_whatever_is_in_its_cells(names in proptest::collection::vec("(?s).{0,12}", 0..6)) {
            let rows = rows(names);
            let text = lines(&SIDES, &rows, 2);
            proptest::prop_assert_eq!(text.matches('\n').count(), rows.len());
            proptest::prop_assert!(!text.chars().any(|c| machine::untrusted::text::is_hidden(c) || c == '\t'));
        }

        #[test]
        fn columns_are_as_wide_as_what_is_shown(
            names in proptest::collection::vec("[a-c \\x1b\\n\\r\\t\u{85}\u{2028}\u{301}数]{0,12}", 0..6),
        ) {
            let text = lines(&SIDES, &rows(names), 2);
            let ends: std::collections::BTreeSet<usize> = text.lines().map(width).collect();
            proptest::prop_assert!(ends.len() <= 1, "{:?}", text);
        }
    }
}
