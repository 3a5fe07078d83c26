//! The chain queue -> interrupt -> CPUs: which queue of a device is served where.
//!
//! Which interrupt serves which queue is known by the names that drivers give (`queue_names`). A name that does not
//! say it has no queue here, and keeps its interrupt.

use serde::Serialize;

use super::queue_names::{DPAA2, Names, Serves};
use super::{Device, DeviceKind};
use crate::irqs::Irq;
use crate::{CpuSet, Machine, Notes};

/// One interrupt of a device and the queues that it serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Served {
    /// Queues by the device's names for them; empty for configuration and events, or when the name does not say.
    pub queues: Vec<String>,
    /// Interrupt.
    pub irq: u32,
    /// Its name.
    pub name: String,
    /// CPUs that it may go to.
    pub asked: Option<CpuSet>,
    /// CPU that it goes to.
    pub effective: Option<CpuSet>,
    /// Nodes of the CPUs where it goes (or may go, when that is not known).
    pub nodes: Vec<u32>,
    /// Whether it comes to another node than the device's; `None` when either is not known.
    pub remote: Option<bool>,
}

/// The interrupts of a device, in order of their numbers.
pub fn of(machine: &Machine, device: &Device) -> Vec<Served> {
    let irqs = in_use(machine, device);
    let names = names(machine, device, &irqs);
    irqs.iter().map(|irq| served(machine, device, irq, &names)).collect()
}

/// Notes for which network cards it cannot be decided which interrupt serves which queue.
pub(crate) fn note_unknown(machine: &Machine, notes: &mut Notes) {
    for device in machine.devices.iter().filter(|device| device.kind == DeviceKind::Net && !device.is_virtual)
    {
        let is_down = device.state.as_deref() == Some("down");
        if is_down || device.queues.is_empty() {
            continue;
        }
        let irqs = in_use(machine, device);
        let names = names(machine, device, &irqs);
        let unknown: CpuSet =
            irqs.iter().filter(|irq| names.serves(&irq.name) == Serves::Unknown).map(|irq| irq.irq).collect();
        if irqs.is_empty() || (unknown.is_empty() && device.driver.as_deref() != Some(DPAA2)) {
            continue;
        }
        let fact = format!("queues of the interrupts of {}", device.name);
        match device.driver.as_deref() {
            Some(DPAA2) => {
                notes.missing(fact, "traffic comes by the portals (dpio) that all interfaces share");
            }
            _ if unknown.len() == 1 => {
                notes.missing(fact, format!("the name of IRQ {unknown} does not say which queue it serves"));
            }
            _ => notes.missing(fact, format!("the names of IRQs {unknown} do not say which queue is whose")),
        }
    }
}

/// Those of its interrupts that are in use.
fn in_use<'m>(machine: &'m Machine, device: &Device) -> Vec<&'m Irq> {
    device.irqs.iter().filter_map(|irq| machine.irq(*irq)).collect()
}

fn names<'d>(machine: &Machine, device: &'d Device, irqs: &[&Irq]) -> Names<'d> {
    let is_port =
        |other: &&Device| other.kind == DeviceKind::Net && other.pci.is_some() && other.pci == device.pci;
    let ports = machine.devices.iter().filter(is_port).count();
    Names::new(device, ports, irqs.iter().map(|irq| irq.name.as_str()))
}

fn served(machine: &Machine, device: &Device, irq: &Irq, names: &Names<'_>) -> Served {
    let place = irq.goes_to();
    let mut nodes: Vec<u32> =
        place.iter().flat_map(|cpus| cpus.iter()).filter_map(|cpu| machine.cpu(cpu)?.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let remote = device.node.filter(|_| !nodes.is_empty()).map(|node| nodes.iter().any(|n| *n != node));
    Served {
        queues: match names.serves(&irq.name) {
            Serves::Queues(queues) => queues,
            Serves::NoQueue | Serves::Unknown => Vec::new(),
        },
        irq: irq.irq,
        name: irq.name.clone(),
        asked: irq.affinity.clone(),
        effective: irq.effective.clone(),
        nodes,
        remote,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::Queue;
    use crate::topology::cpus::Cpu;

    fn device(kind: DeviceKind, name: &str, queues: &[&str]) -> Device {
        let queue = |name: &&str| Queue { name: name.to_string(), ..Queue::default() };
        Device { kind, name: name.into(), queues: queues.iter().map(queue).collect(), ..Device::default() }
    }

    #[test]
    fn an_interrupt_on_the_other_node_is_remote() {
        let cpu = |id, node| Cpu { id, online: true, node: Some(node), ..Cpu::default() };
        let irq = Irq {
            irq: 40,
            name: "eth0-rx-0".into(),
            affinity: Some((0..4).collect()),
            effective: Some(CpuSet::single(3)),
            ..Irq::default()
        };
        let mut card = device(DeviceKind::Net, "eth0", &["rx-0"]);
        (card.node, card.irqs) = (Some(0), vec![40, 41]);
        let machine = Machine { cpus: vec![cpu(0, 0), cpu(3, 1)], irqs: vec![irq], ..Machine::default() };
        let chain = of(&machine, &card);
        assert_eq!(chain.len(), 1);
        assert_eq!((chain[0].nodes.as_slice(), chain[0].remote), (&[1][..], Some(true)));
        card.node = None;
        assert_eq!(of(&machine, &card)[0].remote, None);
    }

    #[test]
    fn queues_that_no_name_shows_are_noted_once_for_a_card() {
        let irq = |irq, name: &str| Irq { irq, name: name.into(), ..Irq::default() };
        let mut card = device(DeviceKind::Net, "eth0", &["rx-0", "tx-0"]);
        card.irqs = vec![40, 41, 42, 43];
        let irqs =
            vec![irq(40, "eth0-TxRx-0"), irq(41, "card chan6"), irq(42, "card chan7"), irq(43, "eth0-mac")];
        let missing = |card: &Device| {
            let mut notes = Notes::new();
            let devices = vec![card.clone()];
            note_unknown(&Machine { devices, irqs: irqs.clone(), ..Machine::default() }, &mut notes);
            notes.into_vec()
        };
        let noted = missing(&card);
        assert_eq!(noted.len(), 1);
        assert_eq!(noted[0].fact, "queues of the interrupts of eth0");
        assert!(noted[0].why.contains("41-42"), "{noted:?}");
        card.state = Some("down".into());
        assert_eq!(missing(&card), []);
        card.state = Some("up".into());
        card.irqs = vec![40, 43];
        assert_eq!(missing(&card), []);
        // A line of the link alone.
        (card.irqs, card.driver) = (vec![43], Some(DPAA2.into()));
        assert!(missing(&card)[0].why.contains("dpio"));
    }
}
