//! Escapes control characters in everything that pinwise writes to a terminal, a pipe or a file. Names from outside are escaped where they are
//! put into a text ([`machine::Outside`]); what was forgotten there is escaped here. Line ends and tabs pass, and of the sequences that drive a terminal
//! those by which pinwise itself colours.

use std::borrow::Cow;

use machine::Outside;
use machine::untrusted::text::is_hidden;

const ESCAPE: char = '\u{1b}';

/// The text, of which nothing drives a terminal but, with `colours`, colours of ours.
pub fn text(text: &str, colours: bool) -> Cow<'_, str> {
    if !colours {
        return Outside(text).lines();
    }
    let mut parts = text.split(ESCAPE);
    let mut guarded = Outside(parts.next().unwrap_or_default()).lines();
    for part in parts {
        let ours = part.split_once('m').filter(|(codes, _)| codes.strip_prefix('[').is_some_and(is_ours));
        let guarded = guarded.to_mut();
        match ours {
            Some((codes, rest)) => guarded.extend([&format!("{ESCAPE}{codes}m"), &*Outside(rest).lines()]),
            None => {
                guarded.extend(ESCAPE.escape_unicode());
                guarded.push_str(&Outside(part).lines());
            }
        }
    }
    guarded
}

/// Codes by which the tables of `report` and the help of clap colour, and the shades of distances, which have a foreground and a
/// background of 256. Others could hide what follows.
fn is_ours(codes: &str) -> bool {
    let is_shade = |codes: &str| {
        let both = codes.strip_prefix("38;5;").and_then(|rest| rest.split_once(";48;5;"));
        both.is_some_and(|(text, ground)| {
            text != ground && [text, ground].iter().all(|n| n.parse::<u8>().is_ok())
        })
    };
    matches!(codes, "0" | "1" | "2" | "4" | "31" | "32" | "33" | "36" | "1;31") || is_shade(codes)
}

/// The same of a JSON document, in which such a character stands in a string and has an escape of JSON's own. serde escapes only those
/// below U+0020.
pub fn json(document: String) -> String {
    let escape = |c: char| c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04x}")).collect();
    escaped(&document, escape).unwrap_or(document)
}

/// The same of a TOML document. Where such a character stands in a string that knows no escapes, the document stays as it is.
pub fn toml(document: String) -> String {
    let Some(guarded) = escaped(&document, |c| format!("\\U{:08x}", u32::from(c))) else { return document };
    let read = |text: &str| ::toml::from_str::<::toml::Table>(text);
    let means_the_same = read(&guarded).is_ok_and(|new| read(&document).is_ok_and(|old| old == new));
    if means_the_same { guarded } else { document }
}

/// A document with the escapes of such characters; `None` where it has none.
fn escaped(document: &str, escape: impl Fn(char) -> String) -> Option<String> {
    document.chars().any(is_hidden).then(|| {
        let mut guarded = String::with_capacity(document.len() + 16);
        for c in document.chars() {
            if is_hidden(c) { guarded.push_str(&escape(c)) } else { guarded.push(c) }
        }
        guarded
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn our_colours_pass_where_there_are_colours_and_nothing_else_does() {
        let ours = "\x1b[1mBold\x1b[0m\n\x1b[38;5;16;48;5;230m 3\x1b[0m\ttail";
        assert_eq!(text(ours, true), ours);
        assert!(!text(ours, false).contains('\x1b'));
        for evil in [
            "\x1b]0;x\x07m",
            "\x1b[2J",
            "\x1b[8m",
            "\x1b[38;5;0;48;5;0m",
            "\x1b",
            "\x1b\x1b[3m",
            "\x1b[1",
            "\x1b[999m",
        ] {
            let shown = text(evil, true);
            assert!(!shown.contains('\x1b') && !shown.contains('\x07'), "{shown:?}");
        }
        assert_eq!(text("a\r\x1b[1mb\u{9b}2J", true), "a\\r\x1b[1mb\\u{9b}2J");
        assert!(matches!(text("plain\n", true), Cow::Borrowed("plain\n")));
    }

    #[test]
    fn toml_means_the_same_and_is_plain() {
        let table = ::toml::Table::from_iter([("a".to_string(), "\u{202e}\u{9b}\u{e0041}é\x1b".into())]);
        let guarded = toml(::toml::to_string(&table).unwrap());
        assert!(!guarded.chars().any(is_hidden), "{guarded}");
        assert_eq!(::toml::from_str::<::toml::Table>(&guarded).unwrap(), table);
        assert_eq!(toml("a = '\u{202e}'\n".into()), "a = '\u{202e}'\n");
    }

    #[test]
    fn json_means_the_same_and_is_plain() {
        let value = serde_json::json!({"a\u{9b}": "\u{202e}\x7f\x1b\u{e0041}é\n"});
        let guarded = json(serde_json::to_string_pretty(&value).unwrap());
        assert!(!guarded.chars().any(is_hidden), "{guarded}");
        assert_eq!(serde_json::from_str::<serde_json::Value>(&guarded).unwrap(), value);
    }
}
