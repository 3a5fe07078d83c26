//! Whose line is it: the interrupts of devices that no PCI function lists, and of several ports that share one.
//!
//! Evidence, the strongest first: `msi_irqs` and `irq` of the PCI function (`place`); the function in the name of the
//! line's controller; the name that the driver gave the line, where it is that of the interface (`eth0-q1-rx`), or of a
//! device on the way up from it (`virtio1`, `fe300000.ethernet`, `mmc0`, `vif0` of Xen's `vif-0`). A name counts as a word of its
//! own: `eth10-rx-0` is no line of `eth1`. A line that a PCI function lists is never given to another device for its name:
//! drivers keep the names from before a card was renamed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{Device, DeviceKind, place};
use crate::irqs::Irq;
use crate::{Notes, Root};

/// Gives each device the lines that are its own, and notes for which none can be found.
pub(crate) fn assign(root: &Root, devices: &mut [Device], irqs: &[Irq], notes: &mut Notes) {
    part_ports(devices, irqs);
    let seekers: Vec<Seeker> = seekers(root, devices);
    let named = Named::of(devices, &seekers, irqs);
    for seeker in &seekers {
        let Some(device) = devices.get_mut(seeker.device) else { continue };
        device.irqs = named.lines(device, seeker).into_iter().collect();
        if device.irqs.is_empty()
            && let Some(why) = seeker.why_none(device, irqs)
        {
            notes.missing(format!("interrupts of {}", device.name), why);
        }
    }
}

/// A device whose lines no folder lists.
struct Seeker {
    /// Its place in the list of devices.
    device: usize,
    path: PathBuf,
    /// Names of the devices on the way up, the nearest first.
    above: Vec<String>,
}

/// Devices that are virtual, or stand on another interface (ports of a switch), have no interrupts of their own.
fn seekers(root: &Root, devices: &[Device]) -> Vec<Seeker> {
    let seeks = |device: &Device| {
        let is_kind = matches!(device.kind, DeviceKind::Net | DeviceKind::Block);
        is_kind && device.irqs.is_empty() && !device.is_virtual && device.lower.is_empty()
    };
    let seeker = |(at, device): (usize, &Device)| {
        let classes: &[&str] = match device.kind {
            DeviceKind::Net => &["/sys/class/net"],
            _ => &["/sys/class/block", "/sys/block"],
        };
        let mut paths =
            classes.iter().filter_map(|class| place::hardware(root, &format!("{class}/{}", device.name)));
        let path = paths.next()?;
        let above = if device.pci.is_some() { Vec::new() } else { names_above(&path) };
        Some(Seeker { device: at, path, above })
    };
    devices.iter().enumerate().filter(|(_, device)| seeks(device)).filter_map(seeker).collect()
}

/// Names of the devices that a path leads through, the nearest first, up to a bus whose interrupts are those of all its devices.
fn names_above(path: &Path) -> Vec<String> {
    let is_bus = |name: &str| ["dprc.", "VMBUS:", "pci"].iter().any(|bus| name.starts_with(bus));
    // Folders of classes (`net`, `block`) and addresses on a bus (`1-1.3`) are no names of devices.
    let is_telling = |name: &str| {
        name.len() >= 4
            && name.bytes().any(|b| b.is_ascii_digit())
            && name.bytes().any(|b| b.is_ascii_alphabetic())
    };
    let names = path.ancestors().filter_map(|dir| dir.file_name()?.to_str());
    let telling = names.take_while(|name| !is_bus(name)).filter(|name| is_telling(name));
    telling
        .flat_map(|name| {
            // xen-netfront writes the number of its device without the dash of the folder.
            let of_xen = name.strip_prefix("vif-").map(|number| format!("vif{number}"));
            [Some(name.to_string()), of_xen]
        })
        .flatten()
        .collect()
}

impl Seeker {
    /// Why it has no line, where it ought to have one.
    fn why_none(&self, device: &Device, irqs: &[Irq]) -> Option<String> {
        let is_up = device.state.as_deref() == Some("up");
        let why = match device.driver.as_deref() {
            _ if self.has_none_by_nature(device) => return None,
            // Its function says that it has none, which is so for a card that is down.
            _ if device.pci.is_some() && !is_up => return None,
            _ if irqs.is_empty() => "no interrupt line of this machine is known",
            _ if device.pci.is_some() => "its PCI function lists none, and no line carries its name",
            Some("hv_netvsc" | "hv_storvsc") => {
                "the channels of VMBus raise the hypervisor's interrupt (row HYP), which names no device"
            }
            Some("vbd") => "lines of Xen's disks are all called blkif and name no disk",
            _ => "no line in /proc/interrupts carries its name, or that of a device that it hangs on",
        };
        Some(why.to_string())
    }

    /// Disks over the network, memory, and devices that a module pretends to have.
    fn has_none_by_nature(&self, device: &Device) -> bool {
        const SOFTWARE: [&str; 7] =
            ["session", "ndbus", "pseudo_", "netdevsim", "mtdblock", "rbd", "tcm_loop_"];
        let is_software = |name: &str| SOFTWARE.iter().any(|start| name.starts_with(start));
        let mut names = self.path.iter().filter_map(|name| name.to_str());
        names.any(is_software) || device.name.starts_with("pmem")
    }
}

/// The lines that no PCI function lists, by what is known of each.
struct Named<'a> {
    by_name: BTreeMap<&'a str, BTreeSet<u32>>,
    by_function: BTreeMap<&'a str, BTreeSet<u32>>,
}

impl<'a> Named<'a> {
    fn of(devices: &[Device], seekers: &[Seeker], irqs: &'a [Irq]) -> Self {
        let listed: BTreeSet<u32> = devices.iter().flat_map(|device| device.irqs.iter().copied()).collect();
        let above = seekers.iter().flat_map(|seeker| &seeker.above).map(String::as_str);
        let known: BTreeSet<&str> = interfaces(devices).chain(above).collect();
        let mut named = Self { by_name: BTreeMap::new(), by_function: BTreeMap::new() };
        if seekers.is_empty() {
            return named;
        }
        for irq in irqs.iter().filter(|irq| !listed.contains(&irq.irq)) {
            match &irq.pci {
                Some(pci) => {
                    named.by_function.entry(pci).or_default().insert(irq.irq);
                }
                None => {
                    for name in irq.name.split(',').flat_map(|action| names_in(action, &known)) {
                        named.by_name.entry(name).or_default().insert(irq.irq);
                    }
                }
            }
        }
        named
    }

    /// The lines of a device: of its PCI function, or that carry its name and that of the nearest device above that has any.
    fn lines(&self, device: &Device, seeker: &Seeker) -> BTreeSet<u32> {
        let of_function = device.pci.as_deref().and_then(|pci| self.by_function.get(pci));
        if let Some(lines) = of_function {
            return lines.clone();
        }
        let own = if device.kind == DeviceKind::Net { self.by_name.get(device.name.as_str()) } else { None };
        let above = seeker.above.iter().find_map(|name| self.by_name.get(name.as_str()));
        own.into_iter().chain(above).flatten().copied().collect()
    }
}

/// Ports of one function are listed with all of its lines: where each action of a line names an interface, the others that list
/// it have no part in it.
fn part_ports(devices: &mut [Device], irqs: &[Irq]) {
    let mut lists: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
    for (at, device) in devices.iter().enumerate().filter(|(_, device)| device.kind == DeviceKind::Net) {
        for irq in &device.irqs {
            lists.entry(*irq).or_default().push(at);
        }
    }
    lists.retain(|_, ports| ports.len() > 1);
    if lists.is_empty() {
        return;
    }
    let known: BTreeSet<&str> = interfaces(devices).collect();
    let mut foreign: BTreeMap<usize, BTreeSet<u32>> = BTreeMap::new();
    for irq in irqs.iter().filter(|irq| !irq.name.is_empty()) {
        let Some(ports) = lists.get(&irq.irq) else { continue };
        let name_of = |at: &usize| devices.get(*at).map(|device| device.name.as_str()).unwrap_or_default();
        let actions: Vec<Vec<&str>> = irq.name.split(',').map(|action| names_in(action, &known)).collect();
        let names_a_port = |names: &Vec<&str>| ports.iter().any(|port| names.contains(&name_of(port)));
        if !actions.iter().all(names_a_port) {
            continue;
        }
        let is_named = |port: &&usize| actions.iter().flatten().any(|name| *name == name_of(port));
        for port in ports.iter().filter(|port| !is_named(port)) {
            foreign.entry(*port).or_default().insert(irq.irq);
        }
    }
    for (at, lines) in foreign {
        if let Some(device) = devices.get_mut(at) {
            device.irqs.retain(|irq| !lines.contains(irq));
        }
    }
}

/// Names of all interfaces, virtual ones too: `eth0-1` may be one of its own, and is then no queue of `eth0`.
fn interfaces(devices: &[Device]) -> impl Iterator<Item = &str> {
    devices.iter().filter(|device| device.kind == DeviceKind::Net).map(|device| device.name.as_str())
}

/// The known names that stand in an action's name as words of their own; of two of which one holds the other, the longer.
fn names_in<'a>(action: &'a str, known: &BTreeSet<&str>) -> Vec<&'a str> {
    /// Drivers' names have some six words. What has more is no driver's.
    const MOST_WORDS: usize = 16;
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '.';
    let mut starts = Vec::new();
    let mut ends = Vec::new();
    let mut is_inside = false;
    for (at, c) in action.char_indices() {
        match (is_inside, is_part(c)) {
            (false, true) => starts.push(at),
            (true, false) => ends.push(at),
            _ => {}
        }
        is_inside = is_part(c);
    }
    if is_inside {
        ends.push(action.len());
    }
    if starts.len() > MOST_WORDS {
        return Vec::new();
    }
    let spans = starts.iter().flat_map(|start| ends.iter().map(move |end| (*start, *end)));
    let is_known =
        |span: &(usize, usize)| action.get(span.0..span.1).is_some_and(|name| known.contains(name));
    let found: Vec<(usize, usize)> = spans.filter(is_known).collect();
    let is_within = |a: &(usize, usize), b: &(usize, usize)| a != b && b.0 <= a.0 && a.1 <= b.1;
    let longest = found.iter().filter(|span| !found.iter().any(|other| is_within(span, other)));
    longest.filter_map(|(start, end)| action.get(*start..*end)).collect()
}

#[cfg(test)]
mod tests;
