//! Where a device is attached: its path in the device tree, PCI function, node, driver, interrupts.

use std::path::PathBuf;

use super::Device;
use super::pcie::{self, PcieLink};
use crate::{CpuSet, Notes, ReadError, Root};

/// What the device tree says about the hardware behind a class device.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) node: Option<u32>,
    pub(crate) pci: Option<String>,
    pub(crate) bridges: Vec<String>,
    pub(crate) links: Vec<PcieLink>,
    pub(crate) local_cpus: Option<CpuSet>,
    pub(crate) irqs: Vec<u32>,
    pub(crate) driver: Option<String>,
}

impl Place {
    /// A device at this place, all else left open.
    pub(crate) fn into_device(self) -> Device {
        Device {
            node: self.node,
            pci: self.pci,
            bridges: self.bridges,
            links: self.links,
            local_cpus: self.local_cpus,
            irqs: self.irqs,
            driver: self.driver,
            ..Device::default()
        }
    }
}

/// Where the hardware behind `/sys/class/.../NAME` stands in the device tree; `None` for a virtual device.
pub(crate) fn hardware(root: &Root, class_device: &str) -> Option<PathBuf> {
    let path = root.resolve(class_device).ok()?;
    if path.starts_with("/sys/devices/virtual") {
        return None;
    }
    // Before 2.6.26 the class held folders instead of links, with a link to the device in each.
    match path.starts_with("/sys/devices") {
        true => Some(path),
        false => root.resolve(format!("{class_device}/device")).ok(),
    }
}

/// Climbs from the device: a disk or a virtio device knows neither node nor interrupts, the PCI function above does.
pub(crate) fn read(root: &Root, path: PathBuf, name: &str, many_nodes: bool, notes: &mut Notes) -> Place {
    let ancestors = above(path);
    let first = |file: &str| ancestors.iter().find(|dir| root.exists(format!("{dir}/{file}")));
    let driver = ancestors.iter().find_map(|dir| root.link(format!("{dir}/driver")).ok());
    let functions: Vec<&String> = ancestors.iter().filter(|dir| pci_address(dir).is_some()).collect();
    let function = functions.first().copied();
    let bridges = functions.iter().skip(1).rev().filter_map(|dir| pci_address(dir)).map(String::from);
    let near = |dir: &String| root.cpu_set(dir, &["local_cpulist"], &["local_cpus"]).ok();
    Place {
        bridges: bridges.collect(),
        links: pcie::links(root, &functions, notes),
        local_cpus: function.and_then(near),
        node: first("numa_node").and_then(|dir| node_of(root, dir, name, many_nodes, notes)),
        pci: function.and_then(|dir| pci_address(dir)).map(String::from),
        irqs: match function {
            Some(dir) => irqs_of(root, dir, name, notes),
            None => irqs_beside_pci(root, &ancestors, name, notes),
        },
        driver: driver.and_then(|target: PathBuf| Some(target.file_name()?.to_str()?.to_string())),
    }
}

/// The path and the folders above it, as far as they are devices.
fn above(path: PathBuf) -> Vec<String> {
    let devices =
        path.ancestors().take_while(|dir| dir.as_os_str() != "/sys/devices" && dir.parent().is_some());
    devices.map(|dir| dir.display().to_string()).collect()
}

fn node_of(root: &Root, dir: &str, name: &str, many_nodes: bool, notes: &mut Notes) -> Option<u32> {
    let node = notes.keep(format!("node of {name}"), root.number::<i64>(format!("{dir}/numa_node")))?;
    // With one node or none there is nothing to know, and many firmwares rightly stay silent.
    if node < 0 && many_nodes {
        notes.missing(
            format!("node of {name}"),
            format!("{dir}/numa_node: -1, the firmware does not report it"),
        );
    }
    u32::try_from(node).ok()
}

/// The interrupts of a PCI function, which has at least the file of its line interrupt.
fn irqs_of(root: &Root, dir: &str, name: &str, notes: &mut Notes) -> Vec<u32> {
    notes.keep(format!("interrupts of {name}"), listed_by(root, dir)).unwrap_or_default()
}

/// The line of an `irq` file, unless it says that there is none: 0, 255 ("no connection", PCI Local Bus Specification 3.0, 6.2.4)
/// or `IRQ_NOTCONNECTED` (include/linux/interrupt.h).
fn connected(irq: u32) -> Option<u32> {
    const NOT_CONNECTED: u32 = 1 << 31;
    Some(irq).filter(|irq| !matches!(*irq, 0 | 255) && *irq < NOT_CONNECTED)
}

/// The interrupts that a device on another bus lists in its own folder: message-signalled ones (`msi_irqs`, any bus since
/// 5.17), or the file of a bus that has one. A virtio device's are those of its transport, the folder above.
fn irqs_beside_pci(root: &Root, ancestors: &[String], name: &str, notes: &mut Notes) -> Vec<u32> {
    let has_driver = |dir: &String| root.link(format!("{dir}/driver")).is_ok();
    let Some(at) = ancestors.iter().position(has_driver) else { return Vec::new() };
    let is_virtio = |dir: &String| dir.rsplit('/').next().is_some_and(|name| name.starts_with("virtio"));
    let folders = if ancestors.get(at).is_some_and(is_virtio) { 2 } else { 1 };
    for dir in ancestors.iter().skip(at).take(folders) {
        match listed_by(root, dir) {
            Ok(irqs) => return irqs,
            Err(e) if e.is_absent() => {}
            Err(e) => notes.missing(format!("interrupts of {name}"), e),
        }
    }
    Vec::new()
}

/// The MSI interrupts that a folder lists, or its one line interrupt.
fn listed_by(root: &Root, dir: &str) -> Result<Vec<u32>, ReadError> {
    match root.list(format!("{dir}/msi_irqs")) {
        Ok(names) => Ok(names.iter().filter_map(|irq| irq.parse().ok()).collect()),
        Err(e) if e.is_absent() => {
            let irq = root.number::<u32>(format!("{dir}/irq"))?;
            Ok(connected(irq).into_iter().collect())
        }
        Err(e) => Err(e),
    }
}

/// The last part of a path if it is a PCI address, `DOMAIN:BUS:DEVICE.FUNCTION`; domains may have 4 to 8 digits.
pub(crate) fn pci_address(path: &str) -> Option<&str> {
    let name = path.rsplit('/').next()?;
    let hex = |text: &str, from, to| {
        (from..=to).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit())
    };
    let mut parts = name.split(':');
    let (domain, bus, rest) = (parts.next()?, parts.next()?, parts.next()?);
    let (device, function) = rest.split_once('.')?;
    let good = hex(domain, 4, 8) && hex(bus, 2, 2) && hex(device, 2, 2) && hex(function, 1, 1);
    (good && parts.next().is_none()).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    const NIC: &str = "/sys/devices/pci0000:00/0000:00:05.0";

    fn virtio() -> Tree {
        Tree::new()
            .file(&format!("{NIC}/numa_node"), "1\n")
            .file(&format!("{NIC}/msi_irqs/38"), "msix\n")
            .file(&format!("{NIC}/msi_irqs/39"), "msix\n")
            .file(&format!("{NIC}/irq"), "11\n")
            .link(&format!("{NIC}/virtio2/driver"), "../../../../bus/virtio/drivers/virtio_net")
            .link(&format!("{NIC}/driver"), "../../../bus/pci/drivers/virtio-pci")
            .link(&format!("{NIC}/virtio2/net/eth0/device"), "../../../virtio2")
            .link("/sys/class/net/eth0", &format!("../../..{NIC}/virtio2/net/eth0"))
    }

    fn of(tree: Tree) -> (Place, Vec<crate::Missing>) {
        let mut notes = Notes::new();
        let root = Root::from_tree(tree);
        let path = hardware(&root, "/sys/class/net/eth0").unwrap();
        let place = read(&root, path, "eth0", true, &mut notes);
        (place, notes.into_vec())
    }

    #[test]
    fn a_virtio_device_gets_node_and_interrupts_of_the_function_above_it() {
        let (place, missing) = of(virtio());
        assert_eq!(place.node, Some(1));
        assert_eq!(place.pci.as_deref(), Some("0000:00:05.0"));
        assert_eq!(place.irqs, [38, 39]);
        assert_eq!(place.driver.as_deref(), Some("virtio_net"));
        assert_eq!(missing, []);
    }

    #[test]
    fn virtual_devices_and_folders_of_old_kernels() {
        let tree = Tree::new()
            .dir("/sys/devices/virtual/net/lo")
            .link("/sys/class/net/lo", "../../devices/virtual/net/lo")
            .dir("/sys/class/net/dummy")
            .dir(NIC)
            .link("/sys/class/net/old/device", &format!("../../../..{NIC}"));
        let root = Root::from_tree(tree);
        assert_eq!(hardware(&root, "/sys/class/net/lo"), None);
        assert_eq!(hardware(&root, "/sys/class/net/dummy"), None);
        assert_eq!(hardware(&root, "/sys/class/net/none"), None);
        assert_eq!(hardware(&root, "/sys/class/net/old"), Some(PathBuf::from(NIC)));
    }

    #[test]
    fn a_node_of_minus_one_is_not_reported_and_a_malformed_one_is_missing() {
        let (place, missing) = of(virtio().file(&format!("{NIC}/numa_node"), "-1\n"));
        assert_eq!(place.node, None);
        assert!(missing[0].why.contains("firmware"), "{missing:?}");
        let (place, missing) = of(virtio().file(&format!("{NIC}/numa_node"), "?\n"));
        assert_eq!(place.node, None);
        assert_eq!(missing[0].fact, "node of eth0");
    }

    #[test]
    fn an_irq_file_may_say_that_there_is_none() {
        for (file, irqs) in [("11\n", &[11][..]), ("0\n", &[]), ("255\n", &[]), ("2147483648\n", &[])] {
            let tree = Tree::new()
                .file(&format!("{NIC}/irq"), file)
                .dir(&format!("{NIC}/net/eth0"))
                .link("/sys/class/net/eth0", &format!("../../..{NIC}/net/eth0"));
            assert_eq!(of(tree).0.irqs, irqs, "{file}");
        }
    }

    #[test]
    fn a_device_on_another_bus_lists_its_own_interrupts_or_its_transport_does() {
        let transport = "/sys/devices/platform/a003e00.virtio_mmio";
        let tree = |dir: &str| {
            Tree::new()
                .link(&format!("{transport}/driver"), "../../../bus/platform/drivers/virtio-mmio")
                .link(&format!("{transport}/virtio1/driver"), "../../../../bus/virtio/drivers/virtio_net")
                .dir(&format!("{transport}/virtio1/net/eth0"))
                .link("/sys/class/net/eth0", &format!("../../..{transport}/virtio1/net/eth0"))
                .file(&format!("{dir}/msi_irqs/52"), "msi\n")
        };
        assert_eq!(of(tree(transport)).0.irqs, [52]);
        assert_eq!(of(tree(&format!("{transport}/virtio1"))).0.irqs, [52]);
        // The bus above may list those of all devices on it.
        assert_eq!(of(tree("/sys/devices/platform")).0.irqs, Vec::<u32>::new());
    }

    #[test]
    fn pci_addresses_with_long_domains_and_what_is_none() {
        assert_eq!(pci_address("/sys/devices/x/0000:3b:00.1"), Some("0000:3b:00.1"));
        assert_eq!(pci_address("10000:01:00.0"), Some("10000:01:00.0"));
        for none in ["pci0000:00", "0000:3b:00", "0:0:0:0", "0000:3b:00.0:pcie001", "zzzz:00:00.0", ""] {
            assert_eq!(pci_address(none), None, "{none}");
        }
    }
}
