//! The facts of a machine that are compared.

mod boot;
mod card;
mod clock;
mod devices;
mod found;
mod hardware;
mod idle;
mod kernel;
mod surroundings;

use machine::{CpuSet, Machine};

use super::layout::Layout;
use super::processor::Processor;

pub(super) use card::cards;
pub(super) use found::Facts;

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
