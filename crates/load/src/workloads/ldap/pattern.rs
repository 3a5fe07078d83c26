//! Text with a number in it that differs from request to request.

use std::io::Write;

/// What stands for the number.
pub(super) const PLACEHOLDER: &str = "{n}";

/// Text in which `{n}` stands for a number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pattern(
    /// What stands before, between and behind the numbers: one piece more than there are numbers.
    Vec<Vec<u8>>,
);

impl Pattern {
    /// Of this text.
    pub(super) fn new(text: &[u8]) -> Self {
        let (mut pieces, mut piece, mut rest) = (Vec::new(), Vec::new(), text);
        while let Some((byte, behind)) = rest.split_first() {
            match rest.strip_prefix(PLACEHOLDER.as_bytes()) {
                Some(behind) => {
                    pieces.push(std::mem::take(&mut piece));
                    rest = behind;
                }
                None => {
                    piece.push(*byte);
                    rest = behind;
                }
            }
        }
        pieces.push(piece);
        Self(pieces)
    }

    /// Appends the text with this number.
    pub(super) fn write(&self, number: u64, out: &mut Vec<u8>) {
        for (at, piece) in self.0.iter().enumerate() {
            if at > 0 {
                // Writing to a Vec cannot fail.
                let _ = write!(out, "{number}");
            }
            out.extend_from_slice(piece);
        }
    }

    /// The text with this number.
    pub(super) fn filled(&self, number: u64) -> Vec<u8> {
        let mut out = Vec::new();
        self.write(number, &mut out);
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_stand_where_they_are_wanted() {
        let of = |text: &str| String::from_utf8(Pattern::new(text.as_bytes()).filled(42)).unwrap();
        assert_eq!(of("uid=user{n},dc=com"), "uid=user42,dc=com");
        assert_eq!(of("{n}{n}"), "4242");
        assert_eq!(of("plain {m} {n"), "plain {m} {n");
    }
}
