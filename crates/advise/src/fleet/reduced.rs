//! What is kept of a host.

use std::sync::Arc;

use machine::Machine;
use machine::devices::DeviceKind;

use super::FeatureId;
use super::facts::{self, Facts};
use super::kind::Kind;
use super::layout::Layout;
use super::processor::Processor;
use super::symbols::{Symbol, Symbols};
use super::values::{Card, Key, Value};

/// A host, as far as it is compared.
#[derive(Debug)]
pub(super) struct Reduced {
    pub(super) host: Arc<str>,
    pub(super) kind: Kind,
    /// Each key once.
    pub(super) facts: Vec<(Key, Value)>,
    /// In order of their addresses.
    pub(super) cards: Vec<Card>,
    /// Features of which it knows all there are: what has no value is absent.
    pub(super) knows_all: Vec<FeatureId>,
    /// CPUs that are online, as a list.
    pub(super) online: Symbol,
    /// CPUs that are there.
    pub(super) cpus: usize,
    /// Nodes.
    pub(super) nodes: usize,
}

impl Reduced {
    pub(super) fn of(
        host: Arc<str>,
        machine: &Machine,
        processor: &Processor,
        symbols: &mut Symbols,
    ) -> Self {
        let layout = Layout::of(machine);
        let kind = Kind::of(machine, &layout, processor, symbols);
        let online = machine.online();
        let listed = symbols.of(&online.to_list());
        let mut facts = Facts::new(symbols);
        facts::collect(machine, &layout, processor, &online, &mut facts);
        let knows_all = knows_all(machine);
        let cards = facts::cards(machine, &online, &mut facts);
        let (cpus, nodes) = (machine.cpus.len(), machine.nodes.len());
        Self { host, kind, facts: facts.finish(), cards, knows_all, online: listed, cpus, nodes }
    }
}

fn knows_all(machine: &Machine) -> Vec<FeatureId> {
    let has = |kind: DeviceKind| machine.devices.iter().any(|device| device.kind == kind);
    let mut known = Vec::new();
    if machine.kernel.cmdline.is_some() {
        known.extend([FeatureId::BootParameter, FeatureId::BootParameterEffect]);
    }
    // Interfaces without hardware are there wherever /sys/class/net could be read. A container sees those of its network namespace only.
    if has(DeviceKind::Net) {
        let is_inside = machine.containers.inside.as_ref().is_some_and(|inside| inside.container);
        known.extend((!is_inside).then_some(FeatureId::NetworkCard));
        known.push(FeatureId::Accelerators);
    }
    // A host without disks looks like one whose disks could not be read.
    if has(DeviceKind::Block) {
        known.push(FeatureId::Disks);
    }
    // Who sees the kernel's own threads sees every process.
    if !machine.kernel_threads.is_empty() {
        known.extend([FeatureId::Owner, FeatureId::OwnerSetting]);
    }
    known
}
