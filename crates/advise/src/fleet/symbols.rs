//! Texts of all hosts, each once: a fleet repeats itself.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

/// A text by its number. The numbers depend on the order in which texts came: nothing that is shown is sorted by them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Symbol(u32);

/// The texts.
#[derive(Debug, Default)]
pub(super) struct Symbols {
    numbers: HashMap<Arc<str>, Symbol>,
    texts: Vec<Arc<str>>,
}

/// Longer texts are cut: a capture may hold anything.
const MOST_BYTES: usize = 4096;

impl Symbols {
    /// The symbol of a text.
    pub(super) fn of(&mut self, text: &str) -> Symbol {
        let text = bounded(text);
        if let Some(known) = self.numbers.get(&*text) {
            return *known;
        }
        let shared: Arc<str> = Arc::from(&*text);
        let symbol = Symbol(u32::try_from(self.texts.len()).unwrap_or(u32::MAX));
        self.texts.push(Arc::clone(&shared));
        self.numbers.insert(shared, symbol);
        symbol
    }

    /// The text of a symbol.
    pub(super) fn text(&self, symbol: Symbol) -> &str {
        self.texts.get(symbol.0 as usize).map_or("", |text| &**text)
    }
}

/// The text, or as much of it as is kept, with a digest that distinguishes long texts.
fn bounded(text: &str) -> Cow<'_, str> {
    if text.len() <= MOST_BYTES {
        return Cow::Borrowed(text);
    }
    let end = (0..=MOST_BYTES).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    Cow::Owned(format!("{}... ({} bytes, digest {:08x})", &text[..end], text.len(), digest(text)))
}

/// 32 bits of a text, the same in every run and on every machine (FNV-1a of 64 bits, its halves folded).
pub(super) fn digest(text: &str) -> u32 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    (hash >> 32) as u32 ^ hash as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_is_kept_once_and_a_long_one_in_part() {
        let mut symbols = Symbols::default();
        let (a, b) = (symbols.of("a"), symbols.of("b"));
        assert_eq!((symbols.of("a"), symbols.text(a), symbols.text(b)), (a, "a", "b"));
        let long = "ü".repeat(4000);
        let (one, other) = (symbols.of(&long), symbols.of(&format!("{long}!")));
        assert_ne!(one, other);
        assert!(symbols.text(one).len() < 4200);
    }

    #[test]
    fn the_digest_is_the_published_one() {
        // FNV-1a of 64 bits: of nothing the offset basis, of "a" af63dc4c8601ec8c.
        assert_eq!(digest(""), 0xcbf2_9ce4 ^ 0x8422_2325);
        assert_eq!(digest("a"), 0xaf63_dc4c ^ 0x8601_ec8c);
    }
}
