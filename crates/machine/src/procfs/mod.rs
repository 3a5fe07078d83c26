//! Parsers of the texts in /proc. Each takes the text and nothing else, so that it works on a capture, in a test
//! and on a machine that nobody here has seen.
//!
//! They run ten times a second on machines with hundreds of CPUs: they borrow from the text, walk over bytes and
//! allocate once a table; what is read again and again goes through [`table::Table`] and parses only what moved.
//!
//! A row or a field that does not have the documented form is missing by itself: it is no row, or `None`, and one of the [`Oddities`]
//! beside what was parsed. A text of which nothing can be read is [`Malformed`]. Nothing panics or is read as zero.

use std::fmt;

mod columns;
pub mod cpuinfo;
pub mod diskstats;
pub(crate) mod escapes;
pub(crate) mod guest_command_line;
pub mod interrupts;
pub mod key_values;
pub mod net_counters;
pub mod net_tcp;
pub mod net_unix;
pub mod numa_maps;
mod oddities;
pub mod pid_memory;
pub mod pid_sched;
pub mod pid_schedstat;
pub mod pid_stat;
pub mod pid_status;
pub mod pressure;
pub mod softirqs;
pub mod stat;
pub mod table;
pub mod vmstat;

pub use oddities::Oddities;

/// Where and why a text does not have the form that the kernel documents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Malformed {
    /// Line number, from 1.
    pub line: usize,
    /// The field, row or piece of text that it is about.
    pub what: String,
    /// What is wrong with it.
    pub why: String,
}

/// Longest piece of a bad text that is quoted: a line of /proc/interrupts can have ten thousand characters.
const QUOTED_CHARS: usize = 60;

impl Malformed {
    /// A malformed text; `what` is cut where it is longer than a message should be.
    pub fn new(line: usize, what: impl fmt::Display, why: impl fmt::Display) -> Self {
        let mut what = what.to_string();
        if let Some((end, _)) = what.char_indices().nth(QUOTED_CHARS) {
            what.truncate(end);
            what.push_str("...");
        }
        Self { line, what, why: why.to_string() }
    }
}

impl fmt::Display for Malformed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed in line {}, '{}': {}", self.line, self.what, self.why)
    }
}

impl std::error::Error for Malformed {}

/// Reads a decimal number that fills `text` up to blanks.
fn decimal(line: usize, field: impl fmt::Display, text: &str) -> Result<u64, Malformed> {
    let text = text.trim();
    if text.is_empty() || !text.bytes().all(|b| b.is_ascii_digit()) {
        return Err(Malformed::new(line, field, format_args!("{:?} is not a number", cut(text))));
    }
    text.parse().map_err(|e| Malformed::new(line, field, format_args!("{:?}: {e}", cut(text))))
}

/// The same of a word that may be missing from its line.
fn decimal_of(line: usize, field: impl fmt::Display, word: Option<&str>) -> Result<u64, Malformed> {
    match word {
        Some(word) => decimal(line, field, word),
        None => Err(Malformed::new(line, field, "is not there")),
    }
}

/// A decimal number that has 32 bits at most.
fn decimal32(line: usize, field: impl fmt::Display + Copy, text: &str) -> Result<u32, Malformed> {
    let value = decimal(line, field, text)?;
    u32::try_from(value).map_err(|_| Malformed::new(line, field, "is past 32 bits"))
}

fn cut(text: &str) -> &str {
    text.char_indices().nth(QUOTED_CHARS).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_names_line_piece_and_reason_and_stays_short() {
        let malformed = Malformed::new(3, "é".repeat(500), "is not a number");
        assert_eq!(malformed.what.chars().count(), QUOTED_CHARS + 3);
        assert!(malformed.to_string().starts_with("malformed in line 3, 'éé"));
    }

    #[test]
    fn only_plain_decimal_numbers_are_numbers() {
        assert_eq!(decimal(1, "f", " 42 "), Ok(42));
        for bad in ["", "+1", "-1", "1x", "18446744073709551616"] {
            assert!(decimal(1, "f", bad).is_err(), "{bad}");
        }
        assert_eq!(decimal32(1, "f", "4294967295"), Ok(u32::MAX));
        assert!(decimal32(1, "f", "4294967296").is_err());
    }
}
