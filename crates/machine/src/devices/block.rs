//! Disks, from /sys/class/block (Documentation/ABI/stable/sysfs-block).

use std::path::{Path, PathBuf};

use super::{Device, DeviceKind, Queue, place};
use crate::{CpuSet, Notes, ReadError, Root};

const BLOCK: &str = "/sys/class/block";

/// Reads the disks that have hardware behind them. Partitions share their disk's place; loop and RAM disks have none.
pub(crate) fn read(root: &Root, many_nodes: bool, notes: &mut Notes) -> Vec<Device> {
    // The class folder came with 2.6.27; before, /sys/block alone listed the disks.
    let (dir, names) = match root.list(BLOCK) {
        Err(e) if e.is_absent() => ("/sys/block", root.list("/sys/block").map_err(|_| e)),
        other => (BLOCK, other),
    };
    let names = notes.keep("disks", names).unwrap_or_default();
    let disk = |name: &String, notes: &mut Notes| {
        // There may be hundreds of these, and none has hardware.
        if ["loop", "ram", "zram"].iter().any(|kind| is_numbered(name, kind)) {
            return None;
        }
        let class_device = format!("{dir}/{name}");
        if root.exists(format!("{class_device}/partition")) {
            return None;
        }
        let mut paths: Vec<PathBuf> = place::hardware(root, &class_device).into_iter().collect();
        paths.extend(nvme_controllers(root, &class_device));
        let path = paths.pop()?;
        let place = match paths.is_empty() {
            true => place::read(root, path, name, many_nodes, notes),
            false => {
                notes.missing(format!("place of {name}"), "it is reached through several controllers");
                place::Place::default()
            }
        };
        Some(one(root, &class_device, place, name, notes))
    };
    names.iter().filter_map(|name| disk(name, notes)).collect()
}

/// `loop7` of `loop`.
fn is_numbered(name: &str, kind: &str) -> bool {
    name.strip_prefix(kind).is_some_and(|number| number.parse::<u32>().is_ok())
}

/// With native multipath an NVMe disk is virtual and stands below its subsystem, which links its controllers.
fn nvme_controllers(root: &Root, class_device: &str) -> Vec<PathBuf> {
    let path = root.resolve(class_device).ok();
    let subsystem = path.as_deref().and_then(Path::parent);
    let Some(subsystem) = subsystem.filter(|dir| dir.starts_with("/sys/devices/virtual/nvme-subsystem"))
    else {
        return Vec::new();
    };
    let names = root.list(subsystem).unwrap_or_default();
    let is_controller = |name: &&String| name.strip_prefix("nvme").is_some_and(|n| n.parse::<u32>().is_ok());
    names.iter().filter(is_controller).filter_map(|name| root.resolve(subsystem.join(name)).ok()).collect()
}

fn one(root: &Root, dir: &str, place: place::Place, name: &str, notes: &mut Notes) -> Device {
    // The unit is 512 bytes whatever the sector size of the disk is.
    let sectors = notes.keep(format!("size of {name}"), root.number::<u64>(format!("{dir}/size")));
    Device {
        kind: DeviceKind::Block,
        name: name.to_string(),
        queues: queues(root, dir, name, notes),
        bytes: sectors.and_then(|n| n.checked_mul(512)),
        ..place.into_device()
    }
}

/// The hardware queues of blk-mq and the CPUs that use each.
fn queues(root: &Root, dir: &str, disk: &str, notes: &mut Notes) -> Vec<Queue> {
    let names = match root.list(format!("{dir}/mq")) {
        Err(e) if e.is_absent() => return Vec::new(),
        other => notes.keep(format!("queues of {disk}"), other).unwrap_or_default(),
    };
    /// The kernel cuts the list where a page ends (block/blk-mq-sysfs.c), some 830 CPUs into it.
    const NEARLY_A_PAGE: usize = 4080;
    let cpus = |name: &str, notes: &mut Notes| {
        let file = format!("{dir}/mq/{name}/cpu_list");
        let list = root.line(&file).and_then(|text| match text.len() >= NEARLY_A_PAGE {
            true => Err(ReadError::malformed(&file, "the kernel cuts the list at one page")),
            false => CpuSet::from_list(&text).map_err(|e| ReadError::malformed(&file, e)),
        });
        notes.keep(format!("CPUs of {disk} queue {name}"), list)
    };
    names.into_iter().map(|name| Queue { cpus: cpus(&name, notes), name, ..Queue::default() }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    #[test]
    fn disks_with_hardware_only_and_their_queues() {
        let disk = "/sys/devices/pci0000:00/0000:00:02.0/virtio1/block/vda";
        let tree = Tree::new()
            .link("/sys/class/block/vda", &format!("../../..{disk}"))
            .dir("/sys/class/block/loop0")
            .link("/sys/class/block/vda1", &format!("../../..{disk}/vda1"))
            .file(&format!("{disk}/vda1/partition"), "1\n")
            .link(&format!("{disk}/device"), "../../../virtio1")
            .file(&format!("{disk}/size"), "2048\n")
            .file(&format!("{disk}/mq/0/cpu_list"), "0, 2\n")
            .file(&format!("{disk}/mq/1/cpu_list"), "1, x\n")
            .file("/sys/devices/pci0000:00/0000:00:02.0/irq", "0\n");
        let mut notes = Notes::new();
        let disks = read(&Root::from_tree(tree), true, &mut notes);
        assert_eq!(disks.len(), 1);
        assert_eq!(disks[0].bytes, Some(1 << 20));
        assert_eq!(disks[0].queues[0].cpus.as_ref().unwrap().to_list(), "0,2");
        assert_eq!(disks[0].queues[1].cpus, None);
        assert_eq!(disks[0].irqs, Vec::<u32>::new());
        assert_eq!(notes.into_vec()[0].fact, "CPUs of vda queue 1");
    }

    #[test]
    fn an_nvme_disk_below_its_subsystem_stands_where_its_only_controller_stands() {
        let subsystem = "/sys/devices/virtual/nvme-subsystem/nvme-subsys0";
        let function = "/sys/devices/pci0000:3a/0000:3b:00.0";
        let tree = Tree::new()
            .file(&format!("{subsystem}/nvme0n1/size"), "8\n")
            .link("/sys/class/block/nvme0n1", &format!("../../..{subsystem}/nvme0n1"))
            .link(&format!("{subsystem}/nvme0"), &format!("../../../../..{function}/nvme/nvme0"))
            .dir(&format!("{function}/nvme/nvme0"))
            .file(&format!("{function}/numa_node"), "1\n")
            .file(&format!("{function}/msi_irqs/40"), "msix\n");
        let root = Root::from_tree(tree.clone());
        let disks = read(&root, true, &mut Notes::new());
        assert_eq!((disks[0].node, disks[0].irqs.as_slice()), (Some(1), &[40][..]));
        let two = tree.link(&format!("{subsystem}/nvme1"), &format!("../../../../..{function}/nvme/nvme0"));
        let mut notes = Notes::new();
        assert_eq!(read(&Root::from_tree(two), true, &mut notes)[0].node, None);
        assert_eq!(notes.into_vec()[0].fact, "place of nvme0n1");
    }
}
