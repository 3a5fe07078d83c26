//! One device in full: where it hangs, what it may do, and the chain queue -> interrupt -> CPUs.

use machine::devices::chain::{self, Served};
use machine::devices::ethtool::{Channels, Coalesce, Ethtool, Rings};
use machine::devices::pcie::PcieLink;
use machine::devices::{Device, DeviceKind, Queue};
use machine::wording::plural;
use machine::{CpuSet, Machine};

use super::lines::facts;
use super::quantities::{cpus, size};
use crate::grid::{self, Side};
use crate::number;
use crate::visible::one_line;

/// Everything about a device, and about those below it when it has no hardware of its own.
pub fn in_full(machine: &Machine, device: &Device) -> String {
    let mut lines = place(machine, device);
    lines.extend(ethtool(device));
    let mut text = facts(&device.name, &lines);
    text.push_str(&queues(device));
    text.push_str(&served(machine, device));
    for name in &device.hardware {
        if let Some(below) = machine.device(DeviceKind::Net, name) {
            text.push('\n');
            text.push_str(&in_full(machine, below));
        }
    }
    text
}

fn place(machine: &Machine, device: &Device) -> Vec<(&'static str, Option<String>)> {
    let list = |names: &[String]| Some(names.join(" ")).filter(|text| !text.is_empty());
    let node = match (device.node, device.is_virtual) {
        (Some(node), _) => Some(format!("{node} ({})", node_cpus(machine, node))),
        (None, true) => None,
        (None, false) => Some("not reported by the firmware".into()),
    };
    let kind = match device.kind {
        DeviceKind::Net => "network",
        DeviceKind::Block => "disk",
        DeviceKind::Gpu => "GPU",
        DeviceKind::Rdma => "RDMA adapter",
        DeviceKind::Accelerator => "accelerator",
        DeviceKind::Dax => "memory device",
    };
    vec![
        (
            "is",
            list(&[Some(kind.to_string()), device.link.clone()].into_iter().flatten().collect::<Vec<_>>()),
        ),
        ("state", device.state.clone()),
        ("speed", device.speed_mbit.map(|mbit| format!("{mbit} Mbit/s"))),
        ("size", device.bytes.map(size)),
        ("driver", device.driver.clone()),
        ("PCI", device.pci.clone()),
        ("below bridges", list(&device.bridges)),
        ("PCIe link", Some(links(device)).filter(|text| !text.is_empty())),
        ("split from", device.physical_function.clone()),
        ("node", node),
        ("near CPUs", device.local_cpus.as_ref().map(CpuSet::to_list)),
        ("built on", list(&device.lower)),
        ("hardware", list(&device.hardware)),
        ("other end", device.peer.clone()),
    ]
}

/// From the root port down: `8.0 GT/s x4 of 8.0 GT/s x8 (from 0000:3a:00.0 to 0000:3b:00.0)`.
fn links(device: &Device) -> String {
    let one = |link: &PcieLink| {
        let of = if link.is_below() { format!(" of {}", link.could()) } else { String::new() };
        format!("{}{of} (from {} to {})", link.current, link.port, link.function)
    };
    device.links.iter().map(one).collect::<Vec<_>>().join(", ")
}

fn node_cpus(machine: &Machine, node: u32) -> String {
    machine.nodes.iter().find(|n| n.id == node).map_or("its CPUs are not known".into(), |n| cpus(&n.cpus))
}

fn ethtool(device: &Device) -> Vec<(&'static str, Option<String>)> {
    let Some(Ethtool { channels, coalesce, rings }) = &device.ethtool else { return Vec::new() };
    let of = |count: Option<u32>, max: Option<u32>, what: &str| {
        let count = count?;
        Some(max.map_or(format!("{count} {what}"), |max| format!("{count} {what} of {max}")))
    };
    let join = |parts: Vec<Option<String>>| {
        Some(parts.into_iter().flatten().collect::<Vec<_>>().join(", ")).filter(|text| !text.is_empty())
    };
    let channels = channels.as_ref().and_then(|c: &Channels| {
        join(vec![
            of(c.combined, c.combined_max, "combined"),
            of(c.rx, c.rx_max, "receive"),
            of(c.tx, c.tx_max, "transmit"),
        ])
    });
    let coalesce = coalesce.as_ref().and_then(|c: &Coalesce| {
        join(vec![
            c.rx_usecs.map(|us| format!("receive {us} us")),
            c.rx_max_frames.map(|n| format!("or {n} frames")),
            c.tx_usecs.map(|us| format!("transmit {us} us")),
            c.tx_max_frames.map(|n| format!("or {n} frames")),
            c.adaptive_rx.filter(|on| *on != 0).map(|_| "receive chosen by load".into()),
            c.adaptive_tx.filter(|on| *on != 0).map(|_| "transmit chosen by load".into()),
        ])
    });
    let rings = rings
        .as_ref()
        .and_then(|r: &Rings| join(vec![of(r.rx, r.rx_max, "receive"), of(r.tx, r.tx_max, "transmit")]));
    vec![("channels", channels), ("interrupts wait", coalesce), ("rings", rings)]
}

fn queues(device: &Device) -> String {
    if device.queues.is_empty() {
        return String::new();
    }
    let head = match device.kind {
        DeviceKind::Block => vec!["QUEUE", "CPUS"],
        _ => vec!["QUEUE", "RPS", "FLOWS", "XPS"],
    };
    let mut rows = vec![head.iter().map(|text| text.to_string()).collect::<Vec<_>>()];
    rows.extend(device.queues.iter().map(|queue| queue_row(device.kind, queue)));
    format!("\n  Queues\n{}", grid::lines(&[Side::Left; 4], &rows, 2))
}

fn queue_row(kind: DeviceKind, queue: &Queue) -> Vec<String> {
    let set = |set: &Option<CpuSet>| match set {
        None => "-".to_string(),
        Some(set) if set.is_empty() => "off".into(),
        Some(set) => set.to_list(),
    };
    match kind {
        DeviceKind::Block => vec![queue.name.clone(), set(&queue.cpus)],
        _ => vec![
            queue.name.clone(),
            set(&queue.rps_cpus),
            queue.rps_flow_cnt.map_or("-".into(), |n| n.to_string()),
            set(&queue.xps_cpus),
        ],
    }
}

fn served(machine: &Machine, device: &Device) -> String {
    let chain = chain::of(machine, device);
    if chain.is_empty() {
        return String::new();
    }
    let head = ["QUEUES", "IRQ", "ASKED", "RUNS ON", "NODE", "COUNT", "NAME"];
    let mut rows = vec![head.map(String::from).to_vec()];
    rows.extend(chain.iter().map(|served| served_row(machine, served)));
    let mut sides = vec![Side::Left; head.len()];
    (sides[1], sides[5]) = (Side::Right, Side::Right);
    let others = machine.devices.iter().filter(|other| other.name != device.name);
    let shared: Vec<String> = others.filter_map(|other| shared_with(device, other)).collect();
    let shared = match shared.is_empty() {
        true => String::new(),
        false => format!("  shared with {}\n", one_line(&shared.join(", "))),
    };
    format!("\n  Interrupts\n{}{shared}", grid::lines(&sides, &rows, 2))
}

/// `sda` where all interrupts are shared with it, `sda (IRQ 16)` where some are.
fn shared_with(device: &Device, other: &Device) -> Option<String> {
    let set = |irqs: &[u32]| irqs.iter().copied().collect::<CpuSet>();
    let own = set(&device.irqs);
    let common = own.intersection(&set(&other.irqs));
    match common.is_empty() {
        true => None,
        false if common == own => Some(other.name.clone()),
        false => Some(format!("{} ({} {common})", other.name, plural("IRQ", common.len()))),
    }
}

fn served_row(machine: &Machine, served: &Served) -> Vec<String> {
    let set = |set: &Option<CpuSet>| set.as_ref().map_or("-".into(), CpuSet::to_list);
    let nodes: Vec<String> = served.nodes.iter().map(u32::to_string).collect();
    let remote = if served.remote == Some(true) { " (not the device's)" } else { "" };
    let counted = machine.irq(served.irq).filter(|irq| irq.counts.is_some());
    let dash = |text: String| if text.is_empty() { "-".into() } else { text };
    vec![
        dash(served.queues.join(" ")),
        served.irq.to_string(),
        set(&served.asked),
        set(&served.effective),
        dash(nodes.join(",")) + remote,
        counted.map_or("-".into(), |irq| number::grouped(irq.came() as f64, 0)),
        served.name.clone(),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::devices::pcie::LinkRate;
    use machine::irqs::Irq;

    #[test]
    fn devices_that_share_interrupts_are_named_with_those_that_they_share() {
        let device =
            |name: &str, irqs: &[u32]| Device { name: name.into(), irqs: irqs.to_vec(), ..Device::default() };
        let (card, port, disk) =
            (device("eth0", &[16, 40]), device("mlx5_0", &[16, 40]), device("sda", &[9, 16]));
        let line = Irq { irq: 16, name: "eth0, ahci".into(), ..Irq::default() };
        let devices = vec![card.clone(), port, disk, device("eth1", &[41]), device("lo", &[])];
        let text = in_full(&Machine { devices, irqs: vec![line], ..Machine::default() }, &card);
        assert!(text.ends_with("\n  shared with mlx5_0, sda (IRQ 16)\n"), "{text}");
    }

    #[test]
    fn the_whole_chain_of_a_card_and_of_the_bond_above_it() {
        let card = Device {
            name: "eth0".into(),
            pci: Some("0000:3b:00.0".into()),
            bridges: vec!["0000:3a:00.0".into()],
            links: vec![PcieLink {
                port: "0000:3a:00.0".into(),
                function: "0000:3b:00.0".into(),
                current: LinkRate { megatransfers_per_s: 8_000, lanes: 4 },
                port_max: LinkRate { megatransfers_per_s: 8_000, lanes: 16 },
                function_max: LinkRate { megatransfers_per_s: 16_000, lanes: 8 },
            }],
            irqs: vec![40],
            queues: vec![Queue {
                name: "rx-0".into(),
                rps_cpus: Some(CpuSet::new()),
                rps_flow_cnt: Some(0),
                ..Queue::default()
            }],
            ethtool: Some(Ethtool {
                channels: Some(Channels { combined: Some(4), combined_max: Some(8), ..Channels::default() }),
                coalesce: Some(Coalesce { rx_usecs: Some(50), adaptive_rx: Some(1), ..Coalesce::default() }),
                rings: None,
            }),
            ..Device::default()
        };
        let bond = Device {
            name: "bond0".into(),
            is_virtual: true,
            link: Some("bond".into()),
            lower: vec!["eth0".into()],
            hardware: vec!["eth0".into()],
            ..Device::default()
        };
        let irq = Irq {
            irq: 40,
            name: "eth0-rx-0".into(),
            affinity: Some((0..2).collect()),
            effective: Some(CpuSet::single(1)),
            counts: Some([(1, 12_000)].into()),
            ..Irq::default()
        };
        let machine = Machine { devices: vec![card, bond.clone()], irqs: vec![irq], ..Machine::default() };
        let text = in_full(&machine, &bond);
        for line in [
            "bond0",
            "  is        network bond",
            "  hardware  eth0",
            "eth0",
            "  PCIe link        8.0 GT/s x4 of 8.0 GT/s x8 (from 0000:3a:00.0 to 0000:3b:00.0)",
            "  node             not reported by the firmware",
            "  channels         4 combined of 8",
            "  interrupts wait  receive 50 us, receive chosen by load",
            "  rx-0   off  0      -",
            "  rx-0     40  0-1    1        -     12,000  eth0-rx-0",
        ] {
            assert!(text.lines().any(|l| l == line), "{line:?} in\n{text}");
        }
    }
}
