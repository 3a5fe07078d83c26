//! Devices: where they are attached, and where their interrupts run.

use machine::devices::{Device, DeviceKind};
use machine::wording::link_speed;
use machine::{CpuSet, Machine};

use super::lines::wrapped;
use super::quantities::{cpus, size};
use crate::grid::{self, Side};
use crate::visible::one_line;

pub(super) fn section(machine: &Machine) -> String {
    let (hardware, virtual_ones): (Vec<&Device>, Vec<&Device>) =
        machine.devices.iter().partition(|device| !device.is_virtual);
    if machine.devices.is_empty() {
        return String::new();
    }
    let mut text = String::from("Devices\n");
    if !hardware.is_empty() {
        let head = ["NAME", "NODE", "PCI", "DRIVER", "QUEUES", "IRQS", "SERVED BY", "IS"];
        let mut rows = vec![head.map(String::from).to_vec()];
        rows.extend(hardware.iter().map(|device| row(machine, device)));
        let mut sides = vec![Side::Left; head.len()];
        sides[1] = Side::Right;
        text.push_str(&grid::lines(&sides, &rows, 2));
    }
    for device in &machine.devices {
        text.push_str(&steering(device));
    }
    let (upon, alone): (Vec<&Device>, Vec<&Device>) =
        virtual_ones.into_iter().partition(|device| !device.hardware.is_empty());
    for device in upon {
        let kind = device.link.as_deref().map(|kind| format!(" ({kind})")).unwrap_or_default();
        let line = format!("  {}{kind} on top of {}", device.name, device.hardware.join(" "));
        text.push_str(&(one_line(&line) + "\n"));
    }
    if !alone.is_empty() {
        let names: Vec<_> = alone.iter().map(|device| one_line(&device.name)).collect();
        text.push_str(&wrapped("  without hardware: ", &names.join(" "), 4));
    }
    text
}

fn row(machine: &Machine, device: &Device) -> Vec<String> {
    let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".into());
    vec![
        device.name.clone(),
        device.node.map_or("unknown".into(), |node| node.to_string()),
        or_dash(device.pci.clone()),
        or_dash(device.driver.clone()),
        or_dash(queues(device)),
        or_dash(
            Some(device.irqs.iter().copied().collect::<CpuSet>().to_list()).filter(|list| !list.is_empty()),
        ),
        or_dash(served_by(machine, device)),
        what(device),
    ]
}

/// `1 rx 1 tx`, `4`.
fn queues(device: &Device) -> Option<String> {
    let count = |start: &str| device.queues.iter().filter(|queue| queue.name.starts_with(start)).count();
    match device.kind {
        _ if device.queues.is_empty() => None,
        DeviceKind::Net if count("tx-") == 0 => Some(format!("{} rx", count("rx-"))),
        DeviceKind::Net => Some(format!("{} rx {} tx", count("rx-"), count("tx-"))),
        _ => Some(device.queues.len().to_string()),
    }
}

/// The CPUs that took this device's interrupts.
fn served_by(machine: &Machine, device: &Device) -> Option<String> {
    let counts = device.irqs.iter().filter_map(|irq| machine.irq(*irq)?.counts.as_ref());
    let took: CpuSet = counts.flatten().filter(|(_, count)| **count > 0).map(|(cpu, _)| *cpu).collect();
    (!took.is_empty()).then(|| cpus(&took))
}

fn what(device: &Device) -> String {
    let speed = device.speed_mbit.map(link_speed);
    let words = match device.kind {
        DeviceKind::Net => [device.state.clone(), speed],
        DeviceKind::Block => [Some("disk".into()), device.bytes.map(size)],
        DeviceKind::Gpu => [Some("GPU".into()), None],
        DeviceKind::Rdma => [Some("RDMA adapter".into()), None],
        DeviceKind::Accelerator => [Some("accelerator".into()), None],
        DeviceKind::Dax => [Some("memory device".into()), None],
    };
    words.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Receive steering that is set, queue by queue; what is at its default is not mentioned.
fn steering(device: &Device) -> String {
    let steered = |queue: &machine::devices::Queue| {
        let set = queue.rps_cpus.as_ref().filter(|set| !set.is_empty())?;
        let line =
            format!("  {} {}: receive work is steered to {} (RPS)", device.name, queue.name, cpus(set));
        Some(one_line(&line).into_owned() + "\n")
    };
    device.queues.iter().filter_map(steered).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::devices::Queue;
    use machine::irqs::Irq;

    fn device(name: &str, is_virtual: bool) -> Device {
        let queue = |name: &str, cpus| Queue { name: name.into(), rps_cpus: Some(cpus), ..Queue::default() };
        Device {
            kind: DeviceKind::Net,
            name: name.into(),
            node: Some(1),
            pci: Some("0000:3b:00.0".into()),
            irqs: vec![40, 41],
            queues: vec![queue("rx-0", CpuSet::single(2)), queue("rx-1", CpuSet::new())],
            driver: Some("ixgbe".into()),
            is_virtual,
            speed_mbit: Some(25_000),
            state: Some("up".into()),
            ..Device::default()
        }
    }

    #[test]
    fn a_card_with_its_node_interrupts_and_steering() {
        let irq = |irq, cpu| Irq { irq, counts: Some([(cpu, 5), (9, 0)].into()), ..Irq::default() };
        let devices = vec![device("eth0", false), device("veth0", true)];
        let text = section(&Machine { devices, irqs: vec![irq(40, 3), irq(41, 4)], ..Machine::default() });
        assert!(
            text.contains("eth0     1  0000:3b:00.0  ixgbe   2 rx    40-41  CPUs 3-4   up, 25 Gbit/s"),
            "{text}"
        );
        assert!(text.contains("eth0 rx-0: receive work is steered to CPU 2 (RPS)"), "{text}");
        assert!(!text.contains("rx-1:"), "{text}");
        assert!(text.contains("without hardware: veth0"), "{text}");
        assert_eq!(section(&Machine::default()), "");
    }
}
