//! GPUs, RDMA adapters, other accelerators and memory devices, by the class that the kernel lists them in.

use super::{Device, DeviceKind, place};
use crate::{Notes, Root};

/// A folder of class devices and which of its entries are devices.
struct Listed {
    kind: DeviceKind,
    dir: &'static str,
    is_device: fn(&str) -> bool,
}

/// Connectors (`card0-DP-1`) and render nodes lie beside the cards.
const LISTED: [Listed; 4] = [
    Listed { kind: DeviceKind::Gpu, dir: "/sys/class/drm", is_device: is_card },
    Listed { kind: DeviceKind::Rdma, dir: "/sys/class/infiniband", is_device: |_| true },
    Listed { kind: DeviceKind::Accelerator, dir: "/sys/class/accel", is_device: |_| true },
    Listed { kind: DeviceKind::Dax, dir: "/sys/bus/dax/devices", is_device: |_| true },
];

/// GPUs that NVIDIA's own driver runs without a card of the display subsystem.
const NVIDIA: &str = "/proc/driver/nvidia/gpus";

fn is_card(name: &str) -> bool {
    name.strip_prefix("card").is_some_and(|number| number.parse::<u32>().is_ok())
}

/// Reads all of them. A class that the kernel does not have is nothing to note.
pub(crate) fn read(root: &Root, many_nodes: bool, notes: &mut Notes) -> Vec<Device> {
    let mut devices = Vec::new();
    for listed in &LISTED {
        let names = match root.list(listed.dir) {
            Err(e) if e.is_absent() => continue,
            other => notes.keep(listed.dir, other).unwrap_or_default(),
        };
        for name in names.iter().filter(|name| (listed.is_device)(name)) {
            devices.extend(one(root, listed.kind, listed.dir, name, many_nodes, notes));
        }
    }
    for address in root.list(NVIDIA).unwrap_or_default() {
        let address = address.to_lowercase();
        if !devices.iter().any(|d| d.kind == DeviceKind::Gpu && d.pci.as_deref() == Some(&address)) {
            let dir = "/sys/bus/pci/devices";
            let gpu = one(root, DeviceKind::Gpu, dir, &address, many_nodes, notes);
            devices.extend(gpu.map(|gpu| Device { name: format!("nvidia-{address}"), ..gpu }));
        }
    }
    devices
}

fn one(
    root: &Root,
    kind: DeviceKind,
    dir: &str,
    name: &str,
    many_nodes: bool,
    notes: &mut Notes,
) -> Option<Device> {
    let path = place::hardware(root, &format!("{dir}/{name}"))?;
    let place = place::read(root, path, name, many_nodes, notes);
    Some(Device { kind, name: name.to_string(), ..place.into_device() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    #[test]
    fn cards_adapters_and_gpus_without_a_card() {
        let gpu = "/sys/devices/pci0000:40/0000:41:00.0";
        let bare = "/sys/devices/pci0000:80/0000:81:00.0";
        let tree = Tree::new()
            .file(&format!("{gpu}/numa_node"), "1\n")
            .dir(&format!("{gpu}/drm/card0"))
            .link("/sys/class/drm/card0", &format!("../../..{gpu}/drm/card0"))
            .link("/sys/class/drm/card0-DP-1", &format!("../../..{gpu}/drm/card0"))
            .dir("/sys/class/drm/version")
            .file(&format!("{bare}/numa_node"), "2\n")
            .link("/sys/bus/pci/devices/0000:81:00.0", &format!("../../../..{bare}"))
            .link("/sys/bus/pci/devices/0000:41:00.0", &format!("../../../..{gpu}"))
            .dir("/proc/driver/nvidia/gpus/0000:41:00.0")
            .dir("/proc/driver/nvidia/gpus/0000:81:00.0");
        let devices = read(&Root::from_tree(tree), true, &mut Notes::new());
        let told: Vec<_> = devices.iter().map(|d| (d.kind, d.name.as_str(), d.node)).collect();
        assert_eq!(
            told,
            [(DeviceKind::Gpu, "card0", Some(1)), (DeviceKind::Gpu, "nvidia-0000:81:00.0", Some(2))]
        );
        assert_eq!(read(&Root::from_tree(Tree::new()), true, &mut Notes::new()), []);
    }
}
