//! The facts of a host as they are found.

use machine::CpuSet;

use super::super::FeatureId;
use super::super::symbols::Symbols;
use super::super::values::{Key, Value};

/// Most things of one kind that are taken of a host: a capture may hold any number.
pub(super) const MOST: usize = 256;

/// Collects facts.
pub(in crate::fleet) struct Facts<'a> {
    pub(super) symbols: &'a mut Symbols,
    found: Vec<(Key, Value)>,
}

impl<'a> Facts<'a> {
    pub(in crate::fleet) fn new(symbols: &'a mut Symbols) -> Self {
        Self { symbols, found: Vec::new() }
    }

    /// A fact in words.
    pub(super) fn text(&mut self, feature: FeatureId, subject: &str, text: impl AsRef<str>) {
        let value = Value::Text(self.symbols.of(text.as_ref()));
        self.value(feature, subject, value);
    }

    /// A fact in words where it is known.
    pub(super) fn known(&mut self, feature: FeatureId, subject: &str, text: Option<impl AsRef<str>>) {
        if let Some(text) = text {
            self.text(feature, subject, text);
        }
    }

    /// A size where it is known.
    pub(super) fn bytes(&mut self, feature: FeatureId, subject: &str, bytes: Option<u64>) {
        if let Some(bytes) = bytes {
            self.value(feature, subject, Value::Bytes(bytes));
        }
    }

    /// CPUs where they are known.
    pub(super) fn cpus(&mut self, feature: FeatureId, subject: &str, cpus: Option<&CpuSet>) {
        self.known(feature, subject, cpus.map(CpuSet::to_list));
    }

    pub(super) fn value(&mut self, feature: FeatureId, subject: &str, value: Value) {
        let subject = self.symbols.of(subject);
        self.found.push((Key { feature, subject }, value));
    }

    /// All facts, each once: of several with one key the last, as the kernel takes the last of two parameters.
    pub(in crate::fleet) fn finish(self) -> Vec<(Key, Value)> {
        let mut found = self.found;
        found.reverse();
        found.sort_by_key(|(key, _)| (key.feature, key.subject));
        found.dedup_by_key(|(key, _)| *key);
        found.shrink_to_fit();
        found
    }
}
