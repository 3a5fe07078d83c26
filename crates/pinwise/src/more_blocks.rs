//! `--blocks +12`: how many blocks are added to a case.

use std::str::FromStr;

/// A number of blocks to add, at least one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MoreBlocks(pub usize);

impl FromStr for MoreBlocks {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |digits: &str| digits.parse::<usize>().ok().filter(|blocks| *blocks > 0);
        match text.strip_prefix('+') {
            Some(digits) if digits.starts_with(|c: char| c.is_ascii_digit()) => number(digits)
                .map(MoreBlocks)
                .ok_or_else(|| "add at least one block, as in --blocks +12".to_string()),
            Some(_) => Err("write a number after the plus, as in --blocks +12".into()),
            None => Err(match number(text) {
                Some(blocks) => format!("blocks can only be added; write --blocks +{blocks} to add {blocks}"),
                None => "write the number of blocks to add, as in --blocks +12".into(),
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_plus_and_a_number_add_blocks() {
        assert_eq!("+6".parse(), Ok(MoreBlocks(6)));
        let why = |text: &str| text.parse::<MoreBlocks>().unwrap_err();
        assert!(why("6").contains("write --blocks +6 to add 6"));
        for text in ["+0", "+", "++6", "+-6", "-6", "six", "", "+99999999999999999999"] {
            assert!(why(text).contains("as in --blocks +12"), "{text}");
        }
    }
}
