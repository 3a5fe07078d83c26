//! What is compared of a host, and the values that it has.

use super::FeatureId;
use super::symbols::{Symbol, Symbols};
use super::words;

/// What is compared: a feature and what it is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Key {
    pub(super) feature: FeatureId,
    /// `eth0`, `node 1`; the empty text for what a machine has once.
    pub(super) subject: Symbol,
}

/// A value of a feature.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Value {
    /// In words, or as a list of CPUs.
    Text(Symbol),
    /// A size, bytes.
    Bytes(u64),
    /// The host knows all there are, and has none of this name.
    Absent,
    /// It is there, and nothing more is known: neither absent nor to be compared.
    Unknown,
}

impl Value {
    /// In words.
    pub(super) fn words(self, feature: FeatureId, symbols: &Symbols) -> String {
        match self {
            Self::Text(symbol) if symbols.text(symbol).is_empty() => "none".into(),
            Self::Text(symbol) => symbols.text(symbol).to_string(),
            Self::Bytes(0) => "none".into(),
            Self::Bytes(bytes) => words::bytes(bytes),
            Self::Absent => feature.absent().unwrap_or("not known").into(),
            Self::Unknown => "not known".into(),
        }
    }
}

/// A network card.
#[derive(Debug, Clone)]
pub(super) struct Card {
    pub(super) name: Symbol,
    pub(super) driver: Symbol,
    pub(super) facts: Vec<(FeatureId, Value)>,
}
