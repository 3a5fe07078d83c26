//! How wide text is on a terminal: Chinese, Japanese and Korean characters and most emoji take two columns, combining marks none
//! (Unicode Standard Annex #11).

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Columns that a text of one line takes.
pub fn width(text: &str) -> usize {
    text.width()
}

/// The text with blanks behind it up to so many columns.
pub fn padded(text: &str, columns: usize) -> String {
    format!("{text}{}", " ".repeat(columns.saturating_sub(width(text))))
}

/// The text cut to so many columns, with `mark` at its end where something is left out.
pub fn cut(text: &str, columns: usize, mark: &str) -> String {
    if width(text) <= columns {
        return text.to_string();
    }
    let room = columns.saturating_sub(width(mark));
    let mut taken = 0;
    let fits = |character: &char| {
        taken += character.width().unwrap_or(0);
        taken <= room
    };
    text.chars().take_while(fits).chain(mark.chars()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_take_two_columns_and_combining_marks_none() {
        assert_eq!((width("abc"), width("数据库"), width("e\u{301}")), (3, 6, 1));
        assert_eq!(padded("数据", 6), "数据  ");
        assert_eq!((cut("数据库", 6, "..."), cut("数据库x", 6, "...")), ("数据库".into(), "数...".into()));
        assert_eq!((cut("abcdefgh", 6, "..."), cut("abc", 2, "…")), ("abc...".into(), "a…".into()));
    }
}
