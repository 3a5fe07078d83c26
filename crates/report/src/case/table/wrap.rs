//! Breaking text into lines.

use crate::display_width::{self, width};

/// Breaks text between words into lines of at most `columns`; a longer word gets a line of its own.
pub fn wrap(text: &str, columns: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let Some(last) = lines.last_mut() else { break };
        if last.is_empty() {
            last.push_str(word);
        } else if width(last) + 1 + width(word) <= columns {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_string());
        }
    }
    lines
}

/// The text cut to so many columns, with `...` where something is left out.
pub fn cut(text: &str, columns: usize) -> String {
    display_width::cut(text, columns, "...")
}

/// Text that begins with `start` and goes on below with `indent`, as lines of so many columns.
pub(crate) fn hanging(start: &str, text: &str, indent: &str, columns: usize) -> Vec<String> {
    let room = columns.saturating_sub(width(start).max(width(indent))).max(1);
    let lines = wrap(text, room).into_iter().enumerate();
    lines.map(|(number, line)| format!("{}{line}", if number == 0 { start } else { indent })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_hold_to_the_width() {
        assert_eq!(wrap("one two three", 7), ["one two", "three"]);
        assert_eq!(wrap("", 7), [""]);
        assert_eq!(wrap("unbreakable x", 4), ["unbreakable", "x"]);
        assert_eq!(cut("abcdefgh", 6), "abc...");
        assert_eq!(hanging("1. ", "one two three", "   ", 10), ["1. one two", "   three"]);
        assert_eq!(hanging("1. ", "one two", "   ", 1), ["1. one", "   two"]);
    }
}
