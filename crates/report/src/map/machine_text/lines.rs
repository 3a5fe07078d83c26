//! Lines of a section: facts by name, and text that is broken where it is too long.

use crate::display_width::width;
use crate::visible;

/// Widest line that is made where text can be broken, characters.
pub(super) const WIDTH: usize = 110;

/// A headline and a line for each fact that is known; nothing when none is.
pub(super) fn facts(title: &str, facts: &[(&str, Option<String>)]) -> String {
    let width =
        facts.iter().filter(|(_, value)| value.is_some()).map(|(name, _)| name.len()).max().unwrap_or(0);
    let lines: String = facts
        .iter()
        .filter_map(|(name, value)| Some(wrapped(&format!("  {name:width$}  "), value.as_ref()?, width + 4)))
        .collect();
    if lines.is_empty() { lines } else { format!("{}\n{lines}", visible::one_line(title)) }
}

/// `start` and then `words`, broken at blanks before [`WIDTH`]; further lines begin at column `indent`.
pub(super) fn wrapped(start: &str, words: &str, indent: usize) -> String {
    // The words may be of several lines: they are broken anew.
    let mut text = visible::one_line(start).into_owned();
    let mut column = width(&text);
    let mut at_start = true;
    for word in words.split_whitespace() {
        let length = width(word);
        if !at_start && column + 1 + length > WIDTH {
            text.push('\n');
            text.push_str(&" ".repeat(indent));
            column = indent;
        } else if !at_start {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
        at_start = false;
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}
