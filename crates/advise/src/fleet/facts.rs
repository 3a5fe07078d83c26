//! The facts of a machine that are compared.

mod boot;
mod card;
mod clock;
mod devices;
mod hardware;
mod idle;
mod kernel;
mod surroundings;

use machine::{CpuSet, Machine};

use super::FeatureId;
use super::layout::Layout;
use super::processor::Processor;
use super::reduced::{Key, Value};
use super::symbols::Symbols;

pub(super) use card::cards;

/// Most things of one kind that are taken of a host: a capture may hold any number.
const MOST: usize = 256;

/// Collects facts.
pub(super) struct Facts<'a> {
    symbols: &'a mut Symbols,
    found: Vec<(Key, Value)>,
}

impl<'a> Facts<'a> {
    pub(super) fn new(symbols: &'a mut Symbols) -> Self {
        Self { symbols, found: Vec::new() }
    }

    /// A fact in words.
    fn text(&mut self, feature: FeatureId, subject: &str, text: impl AsRef<str>) {
        let value = Value::Text(self.symbols.of(text.as_ref()));
        self.value(feature, subject, value);
    }

    /// A fact in words where it is known.
    fn known(&mut self, feature: FeatureId, subject: &str, text: Option<impl AsRef<str>>) {
        if let Some(text) = text {
            self.text(feature, subject, text);
        }
    }

    /// A size where it is known.
    fn bytes(&mut self, feature: FeatureId, subject: &str, bytes: Option<u64>) {
        if let Some(bytes) = bytes {
            self.value(feature, subject, Value::Bytes(bytes));
        }
    }

    /// CPUs where they are known.
    fn cpus(&mut self, feature: FeatureId, subject: &str, cpus: Option<&CpuSet>) {
        self.known(feature, subject, cpus.map(CpuSet::to_list));
    }

    fn value(&mut self, feature: FeatureId, subject: &str, value: Value) {
        let subject = self.symbols.of(subject);
        self.found.push((Key { feature, subject }, value));
    }

    /// All facts, each once: of several with one key the last, as the kernel takes the last of two parameters.
    pub(super) fn finish(self) -> Vec<(Key, Value)> {
        let mut found = self.found;
        found.reverse();
        found.sort_by_key(|(key, _)| (key.feature, key.subject));
        found.dedup_by_key(|(key, _)| *key);
        found.shrink_to_fit();
        found
    }
}

/// Collects all but those of network cards, which [`cards`] returns.
pub(super) fn collect(
    machine: &Machine,
    layout: &Layout,
    processor: &Processor,
    online: &CpuSet,
    facts: &mut Facts<'_>,
) {
    hardware::collect(machine, layout, facts);
    boot::collect(machine, facts);
    kernel::collect(machine, processor, online, facts);
    idle::collect(machine, online, facts);
    clock::collect(machine, online, facts);
    devices::collect(machine, facts);
    surroundings::collect(machine, online, facts);
}
