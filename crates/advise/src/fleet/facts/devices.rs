//! Disks and accelerators: how many of each driver, and on which nodes. Their names and addresses change from boot to boot.

use std::collections::BTreeMap;

use machine::Machine;
use machine::devices::{Device, DeviceKind};
use machine::wording::counted;

use super::super::FeatureId;
use super::found::{Facts, MOST};

pub(super) fn collect(machine: &Machine, facts: &mut Facts<'_>) {
    let mut alike: BTreeMap<(DeviceKind, &str), Vec<&Device>> = BTreeMap::new();
    for device in machine.devices.iter().filter(|device| device.kind != DeviceKind::Net) {
        let driver = device.driver.as_deref().unwrap_or("unknown driver");
        if alike.len() < MOST {
            alike.entry((device.kind, driver)).or_default().push(device);
        }
    }
    for ((kind, driver), devices) in &alike {
        let what = match kind {
            DeviceKind::Net => continue,
            DeviceKind::Block => "disks",
            DeviceKind::Gpu => "GPUs",
            DeviceKind::Rdma => "RDMA adapters",
            DeviceKind::Accelerator => "accelerators",
            DeviceKind::Dax => "DAX devices",
        };
        let subject = format!("{driver} {what}");
        if *kind == DeviceKind::Block {
            facts.text(FeatureId::Disks, &subject, counted(devices.len(), "disk"));
            facts.bytes(FeatureId::DiskBytes, &subject, bytes(devices));
        } else {
            facts.text(FeatureId::Accelerators, &subject, devices.len().to_string());
        }
        facts.known(FeatureId::DeviceNodes, &subject, nodes(devices));
    }
}

/// Of all together, where all are known.
fn bytes(devices: &[&Device]) -> Option<u64> {
    devices.iter().try_fold(0_u64, |sum, device| Some(sum.saturating_add(device.bytes?)))
}

/// How many are on each node, where all are known.
fn nodes(devices: &[&Device]) -> Option<String> {
    let mut on: BTreeMap<u32, usize> = BTreeMap::new();
    for device in devices {
        *on.entry(device.node?).or_default() += 1;
    }
    let words: Vec<String> = on.iter().map(|(node, count)| format!("{count} on node {node}")).collect();
    Some(words.join(", "))
}
