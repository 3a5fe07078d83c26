//! Foreign text made safe to show: names of commands, threads, interrupts and files come from anybody.

use std::borrow::Cow;

/// The text with control characters and characters that turn the reading direction written out (`\u{1b}`), so that
/// a hostile name can neither drive the terminal nor make text read as something else. Line ends become spaces.
pub fn one_line(text: &str) -> Cow<'_, str> {
    match text.chars().any(|c| hidden(c) || c == '\n' || c == '\t') {
        false => Cow::Borrowed(text),
        true => text
            .chars()
            .map(|c| match c {
                '\n' | '\t' => " ".to_string(),
                c if hidden(c) => c.escape_unicode().to_string(),
                c => c.to_string(),
            })
            .collect::<String>()
            .into(),
    }
}

/// The same for text of several lines, whose line ends and tabs stay.
pub fn lines(text: &str) -> Cow<'_, str> {
    match text.chars().any(hidden) {
        false => Cow::Borrowed(text),
        true => text
            .chars()
            .map(|c| if hidden(c) { c.escape_unicode().to_string() } else { c.to_string() })
            .collect::<String>()
            .into(),
    }
}

/// Control characters, the bidirectional controls of Unicode UAX #9, and the two characters that no XML file may hold.
fn hidden(c: char) -> bool {
    let turns_direction =
        matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    let no_xml = matches!(c, '\u{fffe}' | '\u{ffff}');
    turns_direction || no_xml || c.is_control() && c != '\n' && c != '\t'
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_text_stays_as_it_is() {
        assert!(matches!(one_line("p7p1-rx-0 <é>"), Cow::Borrowed("p7p1-rx-0 <é>")));
        assert_eq!(lines("a\n\tb"), "a\n\tb");
    }

    #[test]
    fn a_name_cannot_drive_the_terminal() {
        assert_eq!(one_line("a\x1b[2Jb\nc"), "a\\u{1b}[2Jb c");
        assert_eq!(lines("a\r\nb\u{9b}1m"), "a\\u{d}\nb\\u{9b}1m");
        assert_eq!(one_line("x\u{202e}y"), "x\\u{202e}y");
        assert_eq!(one_line("x\u{ffff}y"), "x\\u{ffff}y");
    }
}
