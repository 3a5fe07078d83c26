//! Network interfaces, from /sys/class/net (Documentation/ABI/testing/sysfs-class-net, sysfs-class-net-queues).

use std::collections::BTreeMap;

use super::links::{self, Link};
use super::{Device, DeviceKind, Queue, ethtool, place};
use crate::{CpuSet, Notes, ReadError, Root};

const NET: &str = "/sys/class/net";

/// Reads all interfaces, virtual ones too: receive work of a veth pair can be steered like that of a card.
pub(crate) fn read(root: &Root, many_nodes: bool, notes: &mut Notes) -> Vec<Device> {
    let names = notes.keep("network interfaces", root.list(NET)).unwrap_or_default();
    let mut links = BTreeMap::new();
    let mut devices: Vec<Device> =
        names.iter().filter_map(|name| one(root, name, many_nodes, &mut links, notes)).collect();
    links::resolve(&mut devices, &links);
    devices
}

/// Reads one interface, without the hardware below it and the other end of a pair.
pub(crate) fn alone(root: &Root, name: &str, notes: &mut Notes) -> Option<Device> {
    one(root, name, false, &mut BTreeMap::new(), notes)
}

fn one(
    root: &Root,
    name: &str,
    many_nodes: bool,
    links: &mut BTreeMap<String, Link>,
    notes: &mut Notes,
) -> Option<Device> {
    let dir = format!("{NET}/{name}");
    // Files like `bonding_masters` lie between the interfaces.
    let entries = match root.list(&dir) {
        Err(e) if e.is_absent() => return None,
        other => notes.keep(format!("interface {name}"), other)?,
    };
    let link = links::read(root, name, &entries);
    let hardware = place::hardware(root, &dir);
    let is_virtual = hardware.is_none();
    let place = hardware.map(|path| place::read(root, path, name, many_nodes, notes)).unwrap_or_default();
    let device = Device {
        kind: DeviceKind::Net,
        name: name.to_string(),
        queues: queues(root, &dir, name, notes),
        is_virtual,
        link: link.kind.clone(),
        lower: link.lower.clone(),
        physical_function: links::physical_function(root, &dir),
        ethtool: if is_virtual { None } else { ethtool::read(root, name, notes) },
        // -1 or an error (EINVAL) when the link is down or the driver has no notion of speed.
        speed_mbit: root.number::<i64>(format!("{dir}/speed")).ok().and_then(|n| u64::try_from(n).ok()),
        state: root.line(format!("{dir}/operstate")).ok(),
        ..place.into_device()
    };
    links.insert(name.to_string(), link);
    Some(device)
}

fn queues(root: &Root, dir: &str, interface: &str, notes: &mut Notes) -> Vec<Queue> {
    let dir = format!("{dir}/queues");
    let names = match root.list(&dir) {
        // Kernels before 2.6.35 have no such folder.
        Err(e) if e.is_absent() => return Vec::new(),
        other => notes.keep(format!("queues of {interface}"), other).unwrap_or_default(),
    };
    let mut queues = Vec::new();
    for name in names {
        let mut mask = |file: &str| {
            let answer = absent_is_none(root.cpu_mask(format!("{dir}/{name}/{file}")));
            notes.keep(format!("{file} of {interface} {name}"), answer).flatten()
        };
        let (rps_cpus, xps_cpus) = match name.starts_with("rx-") {
            true => (mask("rps_cpus"), None),
            false => (None, mask("xps_cpus")),
        };
        let rps_flow_cnt =
            rps_cpus.as_ref().and_then(|_| root.number(format!("{dir}/{name}/rps_flow_cnt")).ok());
        queues.push(Queue { name, rps_cpus, rps_flow_cnt, xps_cpus, cpus: None });
    }
    queues
}

/// A kernel without CONFIG_RPS or CONFIG_XPS has no such file, and reading xps_cpus of the only queue gives ENOENT.
fn absent_is_none(answer: Result<CpuSet, ReadError>) -> Result<Option<CpuSet>, ReadError> {
    match answer {
        Err(e) if e.is_absent() => Ok(None),
        other => other.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    #[test]
    fn queues_speed_and_what_is_no_interface() {
        let veth = "/sys/devices/virtual/net/veth0";
        let tree = Tree::new()
            .file("/sys/class/net/bonding_masters", "\n")
            .link("/sys/class/net/veth0", "../../devices/virtual/net/veth0")
            .file(&format!("{veth}/speed"), "10000\n")
            .file(&format!("{veth}/operstate"), "up\n")
            .file(&format!("{veth}/queues/rx-0/rps_cpus"), "2\n")
            .file(&format!("{veth}/queues/rx-0/rps_flow_cnt"), "0\n")
            .file(&format!("{veth}/queues/rx-10/rps_cpus"), "zz\n")
            .dir(&format!("{veth}/queues/tx-0"));
        let mut notes = Notes::new();
        let devices = read(&Root::from_tree(tree), true, &mut notes);
        assert_eq!(devices.len(), 1);
        let veth = &devices[0];
        assert!(veth.is_virtual && veth.node.is_none());
        assert_eq!((veth.speed_mbit, veth.state.as_deref()), (Some(10000), Some("up")));
        let names: Vec<_> = veth.queues.iter().map(|q| q.name.as_str()).collect();
        assert_eq!(names, ["rx-0", "rx-10", "tx-0"]);
        assert_eq!(veth.queues[0].rps_cpus, Some(CpuSet::single(1)));
        assert_eq!(veth.queues[0].rps_flow_cnt, Some(0));
        assert_eq!((&veth.queues[1].rps_cpus, &veth.queues[2].xps_cpus), (&None, &None));
        let missing = notes.into_vec();
        assert_eq!(missing.len(), 1);
        assert_eq!(missing[0].fact, "rps_cpus of veth0 rx-10");
    }
}
