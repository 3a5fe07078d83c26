//! Devices, hung on the node where they are attached.

use machine::devices::{Device, DeviceKind};
use machine::wording::{link_speed, plural};
use machine::{CpuSet, Machine};

use super::nest::{MACHINE, Nest};
use crate::map::machine_text::cpus as cpu_words;
use crate::map::machine_text::size;
use crate::number;

/// One device as it is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chip {
    /// What kind.
    pub kind: ChipKind,
    /// Its name.
    pub name: String,
    /// Driver, speed or size; left out where many devices hang together.
    pub detail: String,
    /// Which CPUs took its interrupts; left out likewise.
    pub served: Option<String>,
    /// Everything in one line, for the tooltip.
    pub title: String,
}

/// What kind of device a chip is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum ChipKind {
    /// Network interface.
    Net,
    /// Disk.
    Disk,
    /// GPU.
    Gpu,
    /// Anything else.
    Other,
}

/// Devices of one place beyond this number are only counted.
const MOST_CHIPS: usize = 48;

/// A list of CPUs that is longer, in characters, is only counted.
const LONGEST_LIST: usize = 40;

/// Beyond this number in one place only names are drawn.
const MOST_WITH_DETAIL: usize = 8;

/// Hangs each device with hardware on the group of its node; the others stand at the foot of the machine.
pub(super) fn hang(machine: &Machine, nest: &mut Nest) {
    for device in machine.devices.iter().filter(|device| !device.is_virtual) {
        let group = device.node.and_then(|node| nest.of_node(node)).unwrap_or(MACHINE);
        nest.groups[group].chips.push(chip(machine, device));
    }
    for group in &mut nest.groups {
        group.chips.sort_by_key(|chip| chip.kind);
        shorten(&mut group.chips);
    }
    let told_apart = machine.nodes.len() > 1;
    let caption = if told_apart { "devices whose node is unknown" } else { "devices" };
    nest.groups[MACHINE].chips_caption = Some(caption.into());
}

fn shorten(chips: &mut Vec<Chip>) {
    if chips.len() > MOST_WITH_DETAIL {
        for chip in chips.iter_mut() {
            (chip.detail, chip.served) = (String::new(), None);
        }
    }
    if chips.len() > MOST_CHIPS {
        let rest = chips.split_off(MOST_CHIPS - 1);
        let names: Vec<&str> = rest.iter().map(|chip| chip.name.as_str()).collect();
        chips.push(Chip {
            kind: ChipKind::Other,
            name: format!("and {} more", rest.len()),
            detail: String::new(),
            served: None,
            title: names.join(" "),
        });
    }
}

fn chip(machine: &Machine, device: &Device) -> Chip {
    let detail = [device.driver.clone(), figure(device)].into_iter().flatten().collect::<Vec<_>>();
    let served = served_by(machine, device).map(|cpus| match cpu_words(&cpus) {
        words if words.len() > LONGEST_LIST => format!("interrupts: {} CPUs", number::count(cpus.len())),
        words => format!("interrupts: {words}"),
    });
    let node = device.node.map_or("node unknown".into(), |node| format!("node {node}"));
    let irqs: CpuSet = device.irqs.iter().copied().collect();
    let irqs = (!irqs.is_empty()).then(|| format!("{} {irqs}", plural("IRQ", irqs.len())));
    let queues = (!device.queues.is_empty()).then(|| number::counted(device.queues.len(), "queue"));
    let what = Some(format!("{}: {}", device.name, word(kind(device))));
    let down = device.state.clone().map(|state| format!("link {state}"));
    let all =
        [what, device.driver.clone(), figure(device), down, device.pci.clone(), Some(node), queues, irqs];
    let title = all.into_iter().flatten().chain(served.clone()).collect::<Vec<_>>().join(", ");
    Chip { kind: kind(device), name: device.name.clone(), detail: detail.join(", "), served, title }
}

fn kind(device: &Device) -> ChipKind {
    match device.kind {
        DeviceKind::Net => ChipKind::Net,
        DeviceKind::Block => ChipKind::Disk,
        DeviceKind::Gpu => ChipKind::Gpu,
        DeviceKind::Rdma | DeviceKind::Accelerator | DeviceKind::Dax => ChipKind::Other,
    }
}

/// The kind in the words of the legend.
pub(in crate::map::picture) fn word(kind: ChipKind) -> &'static str {
    match kind {
        ChipKind::Net => "network card",
        ChipKind::Disk => "disk",
        ChipKind::Gpu => "GPU",
        ChipKind::Other => "other device",
    }
}

/// Speed or size.
fn figure(device: &Device) -> Option<String> {
    let speed = device.speed_mbit.map(link_speed);
    speed.or_else(|| device.bytes.map(size))
}

/// The CPUs that took this device's interrupts.
fn served_by(machine: &Machine, device: &Device) -> Option<CpuSet> {
    let counts = device.irqs.iter().filter_map(|irq| machine.irq(*irq)?.counts.as_ref());
    let took: CpuSet = counts.flatten().filter(|(_, count)| **count > 0).map(|(cpu, _)| *cpu).collect();
    (!took.is_empty()).then_some(took)
}
