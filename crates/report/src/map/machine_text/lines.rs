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

/// `start` and then `words`, broken at blanks before [`WIDTH`]; further lines begin at column `indent`. A line end in the words is
/// escaped: it may come from a name, and what follows it must not look like a line of ours.
pub(super) fn wrapped(start: &str, words: &str, indent: usize) -> String {
    let mut text = visible::one_line(start).into_owned();
    let mut column = width(&text);
    let mut at_start = true;
    for word in words.trim().split([' ', '\t']).filter(|word| !word.is_empty()) {
        let word = visible::one_line(word);
        let length = width(&word);
        if !at_start && column + 1 + length > WIDTH {
            text.push('\n');
            text.push_str(&" ".repeat(indent));
            column = indent;
        } else if !at_start {
            text.push(' ');
            column += 1;
        }
        text.push_str(&word);
        column += length;
        at_start = false;
    }
    text.truncate(text.trim_end().len());
    text.push('\n');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    proptest::proptest! {
        #[test]
        fn names_make_no_line_and_are_measured_as_they_are_shown(name in "(?s).{0,12}", before in 0usize..120) {
            let words = format!("{} x{name}\nFAKE", "a".repeat(before));
            let text = wrapped("  fact  ", &words, 8);
            let count = text.lines().count();
            proptest::prop_assert!(!text.lines().any(|line| line.trim_start().starts_with("FAKE")), "{:?}", text);
            // The name has blanks of its own, at which it may be broken.
            proptest::prop_assert!(count <= 2 + name.matches([' ', '\t']).count(), "{:?}", text);
            let is_long = |line: &&str| width(line) > WIDTH && line.trim().contains(' ');
            let long = text.lines().skip(1).find(is_long);
            proptest::prop_assert!(long.is_none(), "{:?}", long);
        }
    }
}
