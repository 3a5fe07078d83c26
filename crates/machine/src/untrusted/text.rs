//! Text from outside made safe to show. Names of processes, threads, cgroups, interfaces and files, lines of logs, purposes of sessions
//! and what stands in a captured tree come from anybody.
//!
//! It is kept and compared as it is, and escaped once, where it is shown: at the field, by [`Outside`], which knows whether one line or
//! several are meant. What was forgotten there is caught where output leaves pinwise (`output` and `notes` of the binary), which cannot
//! distinguish a line of ours from one of somebody else's, and lets line ends pass. JSON has escapes of its own, HTML and SVG escape markup besides.

use std::borrow::Cow;
use std::fmt;

/// A piece of text from outside. Displayed, it is one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Outside<'a>(pub &'a str);

impl<'a> Outside<'a> {
    /// On one line: line ends and tabs are written out (`\n`, `\t`), so that a name with a line end cannot look like a line of ours.
    pub fn one_line(self) -> Cow<'a, str> {
        self.shown(|c| is_hidden(c) || c == '\n' || c == '\t')
    }

    /// As lines: their ends and tabs stay.
    pub fn lines(self) -> Cow<'a, str> {
        self.shown(is_hidden)
    }

    /// As lines, of which those after the first stand behind a bar: none of them can look like a line of ours.
    pub fn barred(self) -> Cow<'a, str> {
        match self.lines() {
            text if text.contains('\n') => {
                let mut lines = text.split('\n');
                let first = lines.next().unwrap_or_default().to_string();
                // What was quoted before is not quoted again.
                let further = lines.map(|line| format!("{BAR}{}", line.strip_prefix(BAR).unwrap_or(line)));
                further.fold(first, |text, line| text + "\n" + &line).into()
            }
            text => text,
        }
    }

    fn shown(self, is_written_out: impl Fn(char) -> bool) -> Cow<'a, str> {
        // Nearly all text is plain: that is seen many bytes at a time.
        let ends_stay = !is_written_out('\n');
        let is_end = |byte| ends_stay & matches!(byte, b'\n' | b'\t');
        let is_plain =
            self.0.bytes().fold(true, |all, byte| all & ((0x20..0x7f).contains(&byte) | is_end(byte)));
        if is_plain || !self.0.chars().any(&is_written_out) {
            return Cow::Borrowed(self.0);
        }
        let mut text = String::with_capacity(self.0.len() + 16);
        for c in self.0.chars() {
            match c {
                c if !is_written_out(c) => text.push(c),
                '\n' | '\t' | '\r' => text.extend(c.escape_default()),
                c => text.extend(c.escape_unicode()),
            }
        }
        text.into()
    }
}

impl fmt::Display for Outside<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.one_line())
    }
}

/// What stands before each further line of a text of several; [`Outside::barred`] does not put it twice.
pub const BAR: &str = "  | ";

/// Whether a character draws nothing of its own, and so can deceive: control characters, which drive a terminal; line ends of Unicode;
/// characters that turn the reading direction (UAX #9); and those of no width, by which two names that look alike differ. The joiners
/// among them (U+200C, U+200D) shape words of Persian and Hindi, and emoji: such a name is shown with its escapes, which is ugly, and
/// certain. At the end two that no XML file may hold. Line feed and tab are not among them.
pub fn is_hidden(c: char) -> bool {
    match c {
        '\n' | '\t' => false,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' => true,
        '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}' => true,
        '\u{fffe}' | '\u{ffff}' => true,
        c => c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ordinary_text_stays_as_it_is() {
        for text in ["p7p1-rx-0 <é>", "", "\\u{1b}", "名前 🚀"] {
            assert!(matches!(Outside(text).one_line(), Cow::Borrowed(same) if same == text), "{text}");
        }
        assert!(matches!(Outside("a\n\tb").lines(), Cow::Borrowed("a\n\tb")));
    }

    #[test]
    fn a_name_cannot_drive_the_terminal() {
        let line = |text| Outside(text).one_line().into_owned();
        assert_eq!(line("a\x1b[2Jb"), "a\\u{1b}[2Jb");
        assert_eq!(line("\x1b]52;c;aGk=\x07"), "\\u{1b}]52;c;aGk=\\u{7}");
        assert_eq!(line("a\u{9b}1m\x7f"), "a\\u{9b}1m\\u{7f}");
        assert_eq!(Outside("a\r\nb\u{9b}1m").lines(), "a\\r\nb\\u{9b}1m");
        assert_eq!(format!("{:>8}|{:<3}|", Outside("a\x07"), Outside("b")), "  a\\u{7}|b  |");
    }

    #[test]
    fn a_name_with_a_line_end_is_one_line() {
        assert_eq!(Outside("x\nSession 1: nothing\t").one_line(), "x\\nSession 1: nothing\\t");
        assert_eq!(Outside("x\u{2028}y\u{85}z").lines(), "x\\u{2028}y\\u{85}z");
    }

    #[test]
    fn what_turns_the_direction_or_has_no_width_is_seen() {
        for c in [
            '\u{202e}',
            '\u{2066}',
            '\u{200f}',
            '\u{200b}',
            '\u{200d}',
            '\u{feff}',
            '\u{ad}',
            '\u{e0041}',
            '\u{ffff}',
        ] {
            assert_eq!(Outside(&format!("x{c}y")).one_line(), format!("x{}y", c.escape_unicode()));
        }
    }

    #[test]
    fn further_lines_stand_behind_a_bar_and_are_not_barred_twice() {
        let once = Outside("its last lines:\none\n\x1b[2Jtwo").barred().into_owned();
        assert_eq!(once, "its last lines:\n  | one\n  | \\u{1b}[2Jtwo");
        assert_eq!(Outside(&once).barred(), once);
        assert_eq!(Outside("one").barred(), "one");
    }

    proptest::proptest! {
        #[test]
        fn nothing_hidden_is_left_and_showing_twice_changes_nothing(text in "(?s).{0,60}") {
            let (line, lines) = (Outside(&text).one_line(), Outside(&text).lines());
            proptest::prop_assert!(!line.chars().any(|c| is_hidden(c) || c == '\n' || c == '\t'));
            proptest::prop_assert!(!lines.chars().any(is_hidden));
            proptest::prop_assert_eq!(Outside(&line).one_line(), line.as_ref());
        }
    }
}
