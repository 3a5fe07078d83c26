//! Interrupt lines: where they may go, where they go, how often they came
//! (Documentation/core-api/irq/irq-affinity.rst, Documentation/ABI/testing/sysfs-kernel-irq, proc(5)).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::devices::Device;
use crate::procfs::interrupts;
use crate::topology::numbered;
use crate::{CpuSet, Notes, ReadError, Root};

/// One interrupt line that is in use.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Irq {
    /// Number; the kernel may give it to another device after a driver reload.
    pub irq: u32,
    /// Who asked for it: `eth0-rx-0`, `nvme0q1`; several are separated by commas.
    pub name: String,
    /// Interrupt controller: `IO-APIC`, `IR-PCI-MSIX-0000:3b:00.0`.
    pub chip: Option<String>,
    /// CPUs that it may go to (`smp_affinity_list`).
    pub affinity: Option<CpuSet>,
    /// CPU that it really goes to (`effective_affinity_list`, since 4.15); changes when the next interrupt comes.
    pub effective: Option<CpuSet>,
    /// CPUs that the driver recommends (`affinity_hint`); empty when it recommends none.
    pub hint: Option<CpuSet>,
    /// Devices that it belongs to, by name; several share a function, or a line.
    pub devices: Vec<String>,
    /// PCI function that raises it, where the controller's name shows it.
    pub pci: Option<String>,
    /// NUMA node of its device; where no device is known, the node that the line's descriptor lies on
    /// (/proc/irq/N/node); `None` when not reported, and for a line of devices on different nodes.
    pub node: Option<u32>,
    /// Whether the kernel spreads it itself and refuses other affinities; `None` when that cannot be seen.
    pub managed: Option<bool>,
    /// How often it came since boot, by online CPU; the counters wrap at 2^32.
    pub counts: Option<BTreeMap<u32, u64>>,
}

impl Irq {
    /// Where it goes now: the effective affinity, or the one that was asked for where the kernel does not say; `None` where neither is known.
    pub fn goes_to(&self) -> Option<&CpuSet> {
        self.effective.as_ref().filter(|cpus| !cpus.is_empty()).or(self.affinity.as_ref())
    }

    /// How often it came since boot on all CPUs together, at most `u64::MAX`; 0 where no count is known.
    pub fn came(&self) -> u64 {
        self.counts.iter().flat_map(BTreeMap::values).copied().fold(0, u64::saturating_add)
    }
}

/// Reads the lines that somebody has asked for.
pub(crate) fn read(root: &Root, notes: &mut Notes) -> Vec<Irq> {
    some(root, |_| true, notes)
}

/// Reads those of them that are `wanted`, by number.
pub(crate) fn some(root: &Root, wanted: impl Fn(u32) -> bool, notes: &mut Notes) -> Vec<Irq> {
    let text = root.read("/proc/interrupts");
    let text = notes.keep("interrupt counts", text).unwrap_or_default();
    let table = match text.is_empty() {
        true => None,
        false => {
            let parsed = interrupts::parse(&text);
            if let Ok(table) = &parsed {
                notes.odd("/proc/interrupts", &table.odd);
            }
            notes.keep("interrupt counts", parsed.map_err(|e| ReadError::malformed("/proc/interrupts", e)))
        }
    };
    let folders = notes.keep("interrupt affinities", root.list("/proc/irq")).unwrap_or_default();
    let counted = table.iter().flat_map(|table| table.rows.iter().filter_map(interrupts::Row::irq));
    let ids: BTreeSet<u32> = numbered(&folders, "").iter().chain(counted).filter(|id| wanted(*id)).collect();
    let rows: BTreeMap<u32, &interrupts::Row<'_>> =
        table.iter().flat_map(|table| table.rows.iter()).filter_map(|row| Some((row.irq()?, row))).collect();
    let managed = Managed::of(root, notes);
    let mut irqs = Vec::new();
    for id in ids {
        let row = rows.get(&id).copied();
        let counts = row.and_then(|row| table.as_ref()?.per_cpu(row));
        let cpus = table.as_ref().map(|table| table.cpus.as_slice()).unwrap_or_default();
        let irq = Irq {
            counts: counts.map(|counts| cpus.iter().copied().zip(counts.iter().copied()).collect()),
            managed: managed.is_managed(root, id),
            ..line(root, id, row, notes)
        };
        // A line that nobody asked for cannot come: /proc/irq holds many of those (the old ISA ones).
        if row.is_some() || !irq.name.is_empty() {
            irqs.push(irq);
        }
    }
    irqs
}

/// Name, controller and affinities of one line.
fn line(root: &Root, id: u32, row: Option<&interrupts::Row<'_>>, notes: &mut Notes) -> Irq {
    // A line that is counted has both in its row; asking sysfs too would be two files more for each of thousands.
    let told = |file: &str| {
        let path = format!("/sys/kernel/irq/{id}/{file}");
        if row.is_some() { None } else { root.line(path).ok().filter(|text| !text.is_empty()) }
    };
    let name = row.map(name_of).or_else(|| told("actions"));
    let chip =
        row.map(|row| row.chip.to_string()).filter(|chip| !chip.is_empty()).or_else(|| told("chip_name"));
    if row.is_none() && name.as_deref().unwrap_or_default().is_empty() {
        return Irq { irq: id, ..Irq::default() };
    }
    let dir = format!("/proc/irq/{id}");
    let affinity = root.cpu_set(&dir, &["smp_affinity_list"], &["smp_affinity"]);
    let effective = match root.cpu_set(&dir, &["effective_affinity_list"], &["effective_affinity"]) {
        Err(e) if e.is_absent() => None,
        other => notes.keep(format!("effective affinity of IRQ {id}"), other),
    };
    Irq {
        irq: id,
        name: name.unwrap_or_default(),
        pci: chip.as_deref().and_then(pci_of_chip).map(String::from),
        hint: root.cpu_mask(format!("{dir}/affinity_hint")).ok(),
        devices: Vec::new(),
        chip,
        affinity: notes.keep(format!("affinity of IRQ {id}"), affinity),
        effective,
        node: root.number::<i64>(format!("{dir}/node")).ok().and_then(|node| u32::try_from(node).ok()),
        managed: None,
        counts: None,
    }
}

/// What its devices are called, with commas between them.
fn name_of(row: &interrupts::Row<'_>) -> String {
    row.devices().collect::<Vec<_>>().join(",")
}

/// `IR-PCI-MSIX-0000:3b:00.0` names the function (since 6.2); `IO-APIC` does not.
fn pci_of_chip(chip: &str) -> Option<&str> {
    let at = chip.find("MSI")?;
    let (_, address) = chip.get(at..)?.split_once('-')?;
    crate::devices::place::pci_address(address)
}

/// Number, name and PCI function of each line in /proc/interrupts; all else is left open.
pub(crate) fn named(root: &Root) -> Vec<Irq> {
    let text = root.read("/proc/interrupts").unwrap_or_default();
    let Ok(table) = interrupts::parse(&text) else { return Vec::new() };
    let line = |row: &interrupts::Row<'_>| {
        Some(Irq {
            irq: row.irq()?,
            name: name_of(row),
            pci: pci_of_chip(row.chip).map(String::from),
            ..Irq::default()
        })
    };
    table.rows.iter().filter_map(line).collect()
}

/// Writes into each line the devices that own it, and their node.
pub(crate) fn name_owners(irqs: &mut [Irq], devices: &[Device], notes: &mut Notes) {
    let mut nodes: BTreeMap<u32, BTreeSet<Option<u32>>> = BTreeMap::new();
    for device in devices {
        for number in &device.irqs {
            if let Ok(at) = irqs.binary_search_by_key(number, |irq| irq.irq)
                && let Some(irq) = irqs.get_mut(at)
            {
                irq.devices.push(device.name.clone());
                nodes.entry(*number).or_default().insert(device.node);
            }
        }
    }
    for irq in irqs {
        let Some(nodes) = nodes.get(&irq.irq) else { continue };
        // The file says where the descriptor lies, which for spread vectors is not where the device is.
        irq.node = if nodes.len() == 1 { nodes.first().copied().flatten() } else { None };
        let known: Vec<String> = nodes.iter().flatten().map(u32::to_string).collect();
        if known.len() > 1 {
            let why = format!("the devices that share it are on nodes {}", known.join(", "));
            notes.missing(format!("node of IRQ {}", irq.irq), why);
        }
    }
}

/// Whether managed lines can be distinguished on this kernel: only its debug files say so.
struct Managed {
    visible: bool,
}

impl Managed {
    const DIR: &str = "/sys/kernel/debug/irq/irqs";

    fn of(root: &Root, notes: &mut Notes) -> Self {
        let listed = root.list(Self::DIR);
        let listed = listed.map_err(|e| format!("{e} (needs debugfs and CONFIG_GENERIC_IRQ_DEBUGFS)"));
        let visible = notes.keep("which IRQs are managed by the kernel", listed).is_some();
        Self { visible }
    }

    fn is_managed(&self, root: &Root, id: u32) -> Option<bool> {
        let text = self.visible.then(|| root.read(format!("{}/{id}", Self::DIR)).ok()).flatten()?;
        Some(text.contains("IRQD_AFFINITY_MANAGED"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    const TABLE: &str = "           CPU0       CPU2\n  9:          1          0   IO-APIC   9-fasteoi   acpi\n 38:          0       2163 PCI-MSIX-0000:00:03.0   1-edge      eth0-rx-0\nLOC:      62051      65171   Local timer interrupts\n";

    fn of(tree: Tree) -> (Vec<Irq>, Vec<String>) {
        let mut notes = Notes::new();
        let irqs = read(&Root::from_tree(tree), &mut notes);
        (irqs, notes.into_vec().into_iter().map(|m| m.fact).collect())
    }

    #[test]
    fn counts_of_all_cpus_are_added_up_whatever_they_are() {
        let came = |counts: &[(u32, u64)]| {
            Irq { counts: Some(counts.iter().copied().collect()), ..Irq::default() }.came()
        };
        assert_eq!((came(&[(0, 2), (3, 5)]), came(&[]), Irq::default().came()), (7, 0, 0));
        assert_eq!(came(&[(0, u64::MAX), (1, 1)]), u64::MAX);
    }

    #[test]
    fn counts_affinities_and_lines_that_nobody_asked_for() {
        let tree = Tree::new()
            .file("/proc/interrupts", TABLE)
            .dir("/proc/irq/3")
            .file("/proc/irq/9/smp_affinity", "5\n")
            .file("/proc/irq/38/smp_affinity_list", "0,2\n")
            .file("/proc/irq/38/effective_affinity_list", "2\n")
            .file("/proc/irq/38/node", "-1\n")
            .file("/proc/irq/38/affinity_hint", "0\n")
            .file("/sys/kernel/irq/38/actions", "eth0-rx-0\n")
            .file("/sys/kernel/irq/38/chip_name", "PCI-MSIX-0000:00:03.0\n")
            .file("/sys/kernel/debug/irq/irqs/38", "dstate: 0x1\n            IRQD_AFFINITY_MANAGED\n")
            .file("/sys/kernel/debug/irq/irqs/9", "dstate: 0x1\n");
        let (irqs, missing) = of(tree);
        let ids: Vec<_> = irqs.iter().map(|i| i.irq).collect();
        assert_eq!(ids, [9, 38]);
        assert_eq!(irqs[0].name, "acpi");
        assert_eq!(irqs[0].affinity.as_ref().unwrap().to_list(), "0,2");
        assert_eq!(irqs[0].managed, Some(false));
        assert_eq!(irqs[1].counts, Some(BTreeMap::from([(0, 0), (2, 2163)])));
        assert_eq!(irqs[1].effective, Some(CpuSet::single(2)));
        assert_eq!((irqs[1].node, irqs[1].managed), (None, Some(true)));
        assert_eq!((irqs[0].pci.as_deref(), irqs[1].pci.as_deref()), (None, Some("0000:00:03.0")));
        assert_eq!((&irqs[0].hint, &irqs[1].hint), (&None, &Some(CpuSet::new())));
        assert_eq!(missing, Vec::<String>::new());
    }

    #[test]
    fn a_number_of_two_lines_is_that_of_the_first_and_said() {
        let twice = TABLE.replace("  9:", " 38:");
        let (irqs, missing) = of(Tree::new().file("/proc/interrupts", twice).dir("/proc/irq/38"));
        assert_eq!((irqs.len(), irqs[0].irq, irqs[0].name.as_str()), (1, 38, "acpi"));
        assert_eq!(irqs[0].counts, Some(BTreeMap::from([(0, 1), (2, 0)])));
        assert!(missing.contains(&"/proc/interrupts 38".to_string()), "{missing:?}");
    }

    #[test]
    fn a_line_has_the_node_of_its_owners_where_they_agree() {
        let device = |name: &str, node, irqs: &[u32]| Device {
            name: name.into(),
            node,
            irqs: irqs.to_vec(),
            ..Device::default()
        };
        let devices = [
            device("eth0", Some(1), &[16, 40]),
            device("sda", Some(0), &[16, 17]),
            device("eth1", None, &[17, 41]),
            device("mlx5_0", Some(1), &[40]),
        ];
        let line = |irq| Irq { irq, node: Some(7), ..Irq::default() };
        let mut irqs = [16, 17, 40, 41, 42].map(line);
        let mut notes = Notes::new();
        name_owners(&mut irqs, &devices, &mut notes);
        assert_eq!(irqs.each_ref().map(|irq| irq.node), [None, None, Some(1), None, Some(7)]);
        assert_eq!(irqs[0].devices, ["eth0", "sda"]);
        let missing = notes.into_vec();
        assert_eq!(missing.len(), 1);
        assert_eq!(missing[0].fact, "node of IRQ 16");
        assert!(missing[0].why.ends_with("nodes 0, 1"), "{missing:?}");
    }

    #[test]
    fn a_malformed_or_absent_table_leaves_the_affinities() {
        let tree = Tree::new()
            .file("/proc/interrupts", "garbage\n")
            .file("/proc/irq/9/smp_affinity_list", "0-x\n")
            .file("/sys/kernel/irq/9/actions", "acpi\n");
        let (irqs, missing) = of(tree);
        assert_eq!((irqs[0].irq, &irqs[0].counts, &irqs[0].affinity), (9, &None, &None));
        assert_eq!(
            missing,
            ["interrupt counts", "which IRQs are managed by the kernel", "affinity of IRQ 9"]
        );
        let (irqs, missing) = of(Tree::new());
        assert!(irqs.is_empty());
        assert_eq!(missing.len(), 3);
    }
}
