//! Breaking text into lines.

/// Breaks text between words into lines of at most `width` characters; a longer word gets a line of its own.
pub fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        let Some(last) = lines.last_mut() else { break };
        if last.is_empty() {
            last.push_str(word);
        } else if last.chars().count() + 1 + word.chars().count() <= width {
            last.push(' ');
            last.push_str(word);
        } else {
            lines.push(word.to_string());
        }
    }
    lines
}

/// The text cut to `width` characters, with `...` where something is left out.
pub fn cut(text: &str, width: usize) -> String {
    match text.chars().count() <= width {
        true => text.to_string(),
        false => text.chars().take(width.saturating_sub(3)).chain("...".chars()).collect(),
    }
}

/// Text that begins with `start` and goes on below with `indent`, as lines of so many characters.
pub(crate) fn hanging(start: &str, text: &str, indent: &str, width: usize) -> Vec<String> {
    let room = width.saturating_sub(start.len().max(indent.len())).max(1);
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
