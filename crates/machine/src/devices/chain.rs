//! The chain queue -> interrupt -> CPUs: which queue of a device is served where.
//!
//! The kernel does not say which interrupt serves which queue; drivers name them alike
//! (request_irq(9) names in /proc/interrupts: `eth0-rx-0`, `eth0-TxRx-3`, `mlx5_comp3@pci:...`, `virtio2-input.0`,
//! `nvme0q4`). A name that follows no known form has no queue here, and keeps its interrupt.

use serde::Serialize;

use super::{Device, DeviceKind};
use crate::irqs::Irq;
use crate::{CpuSet, Machine};

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
    let irqs = device.irqs.iter().filter_map(|irq| machine.irq(*irq));
    irqs.map(|irq| served(machine, device, irq)).collect()
}

fn served(machine: &Machine, device: &Device, irq: &Irq) -> Served {
    let place = irq.goes_to();
    let mut nodes: Vec<u32> =
        place.iter().flat_map(|cpus| cpus.iter()).filter_map(|cpu| machine.cpu(cpu)?.node).collect();
    nodes.sort_unstable();
    nodes.dedup();
    let remote = device.node.filter(|_| !nodes.is_empty()).map(|node| nodes.iter().any(|n| *n != node));
    Served {
        queues: queues_of(&irq.name, device),
        irq: irq.irq,
        name: irq.name.clone(),
        asked: irq.affinity.clone(),
        effective: irq.effective.clone(),
        nodes,
        remote,
    }
}

/// The queues that an interrupt's name mentions, among those that the device has.
fn queues_of(name: &str, device: &Device) -> Vec<String> {
    let name = name.split('@').next().unwrap_or_default().to_ascii_lowercase();
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (stem, number) = name.split_at(name.len() - digits);
    let Ok(mut number) = number.parse::<u32>() else { return Vec::new() };
    // tg3 keeps its first vector for link events, and ring q has vector q + 1 (drivers/net/ethernet/broadcom/tg3.c).
    if device.driver.as_deref() == Some("tg3") && device.irqs.len() > 1 {
        match number.checked_sub(1) {
            Some(queue) => number = queue,
            None => return Vec::new(),
        }
    }
    let wanted: Vec<String> = match device.kind {
        DeviceKind::Net => network(stem, &device.name.to_ascii_lowercase())
            .iter()
            .map(|direction| format!("{direction}-{number}"))
            .collect(),
        DeviceKind::Block => block(stem, number).map(|queue| queue.to_string()).into_iter().collect(),
        _ => Vec::new(),
    };
    wanted.into_iter().filter(|queue| device.queues.iter().any(|q| q.name == *queue)).collect()
}

/// Directions that the name without its number mentions.
fn network(stem: &str, interface: &str) -> &'static [&'static str] {
    let words: Vec<&str> = stem.split(|c: char| !c.is_ascii_alphanumeric()).collect();
    let has = |word: &str| words.contains(&word);
    let (rx, tx) = (has("rx") || has("input"), has("tx") || has("output"));
    match (rx, tx) {
        (true, false) => &["rx"],
        (false, true) => &["tx"],
        (true, true) => &["rx", "tx"],
        _ if has("txrx") || has("rxtx") || has("fp") || stem.ends_with("_comp") => &["rx", "tx"],
        // `eth0-3`: many drivers name nothing but interface and channel.
        _ if stem.strip_prefix(interface) == Some("-") => &["rx", "tx"],
        _ => &[],
    }
}

/// NVMe counts its admin queue as 0; virtio has a request queue of each number.
fn block(stem: &str, number: u32) -> Option<u32> {
    match stem {
        _ if stem.starts_with("nvme") && stem.ends_with('q') => number.checked_sub(1),
        _ if stem.ends_with("-req.") => Some(number),
        _ => None,
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
    fn names_of_many_drivers() {
        let card = device(DeviceKind::Net, "eth0", &["rx-0", "rx-3", "tx-0", "tx-3"]);
        for (name, queues) in [
            ("eth0-rx-0", &["rx-0"][..]),
            ("eth0-tx-3", &["tx-3"]),
            ("eth0-TxRx-3", &["rx-3", "tx-3"]),
            ("i40e-eth0-TxRx-0", &["rx-0", "tx-0"]),
            ("eth0-Tx-Rx-3", &["rx-3", "tx-3"]),
            ("mlx5_comp3@pci:0000:3b:00.0", &["rx-3", "tx-3"]),
            ("virtio2-input.0", &["rx-0"]),
            ("virtio2-output.3", &["tx-3"]),
            ("eth0-3", &["rx-3", "tx-3"]),
            ("eth0-fp-3", &["rx-3", "tx-3"]),
            ("eth0-TxRx-7", &[]),
            ("virtio2-config", &[]),
            ("eth0", &[]),
            ("", &[]),
            ("99999999999999999999", &[]),
        ] {
            assert_eq!(queues_of(name, &card), queues, "{name}");
        }
        let mut tg3 = device(DeviceKind::Net, "eth0", &["rx-0", "rx-1"]);
        (tg3.driver, tg3.irqs) = (Some("tg3".into()), vec![40, 41, 42]);
        assert_eq!(queues_of("eth0-rx-1", &tg3), ["rx-0"]);
        assert_eq!(queues_of("eth0-0", &tg3), Vec::<String>::new());
        let disk = device(DeviceKind::Block, "nvme0n1", &["0", "1"]);
        assert_eq!(queues_of("nvme0q2", &disk), ["1"]);
        assert_eq!(queues_of("nvme0q0", &disk), Vec::<String>::new());
        assert_eq!(queues_of("virtio1-req.0", &disk), ["0"]);
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

    proptest::proptest! {
        #[test]
        fn no_name_makes_it_panic(name in ".{0,30}") {
            let _ = queues_of(&name, &device(DeviceKind::Net, "é", &["rx-0"]));
            let _ = queues_of(&name, &device(DeviceKind::Block, "", &["0"]));
        }
    }
}
