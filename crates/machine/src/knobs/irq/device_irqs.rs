//! Which CPUs the interrupts of a device may be delivered to, all of them as one target.

mod layout;

use super::irq_affinity::existing;
use super::irqbalance_banned_irqs;
use crate::devices::lines::assign;
use crate::devices::{Device, block, network};
use crate::irqs::{self, Irq};
use crate::knobs::{About, Knob, MaySet, OwnerId, Target, no_such};
use crate::{Act, Class, CpuSet, Fault, Notes, Root};
use layout::Layout;

/// The knob.
#[derive(Debug)]
pub struct DeviceIrqs;

static ABOUT: About = About {
    id: "device-irqs",
    title: "CPUs that the interrupts of a device may be delivered to",
    docs: "irq-affinity for a whole network card or disk. spread gives each queue one CPU: the first queue the first CPU of \
           the list, the next the next, and from the start again when the list ends; receiving and sending of one queue stay \
           together, and interrupts that are no queue's (configuration, errors) stay where they are. all lets each go \
           to any CPU of the list, which on most machines means the first.",
    unit: "spread:CPUS, all:CPUS, or each:CPUS;CPUS;... with one CPU list for each interrupt by its number. The order \
           of CPUS after spread counts: 4,0-3",
    scope: "one device with interrupts: the name of a network interface or disk",
    owner: "irqbalance, which pinwise has leave them alone, one by one (before 1.9.4 it does not listen for 10 s at a time \
            after such a message); vendors' scripts (set_irq_affinity); tuned; tuna; drivers that set hints; whoever changes the number of channels",
    owners: &[OwnerId::Irqbalance, OwnerId::Tuned, OwnerId::Tuna],
    risk: "Devices of one PCI function share its interrupts: moving those of one moves those of the other. Interrupts that the \
           kernel manages (NVMe, virtio-blk) cannot be moved, and none is when one of them would have to be; where the \
           kernel does not show which those are it refuses them one by one. Numbers change when a driver is loaded anew or \
           the channels change: a value that begins with each holds until then.",
    may_set: MaySet::Root,
    source: "Documentation/core-api/irq/irq-affinity.rst; Documentation/networking/scaling.rst; proc_irq(5)",
};

impl Knob for DeviceIrqs {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn targets(&self, root: &Root) -> Result<Vec<Target>, Fault> {
        let mut targets: Vec<Target> = Vec::new();
        for Device { name, irqs, .. } in devices(root) {
            let can_move = irqs.iter().any(|irq| existing(root, &irq.to_string()).is_ok());
            if can_move && targets.iter().all(|target| target.id != name) {
                targets.push(Target { what: format!("interrupts of {name}"), id: name });
            }
        }
        Ok(targets)
    }

    /// In the form `each:`.
    fn read(&self, root: &Root, target: &str) -> Result<String, Fault> {
        let lists: Vec<String> = lines(root, target)?.into_iter().map(|line| line.cpus.to_list()).collect();
        Ok(format!("each:{}", lists.join(";")))
    }

    fn change(&self, root: &Root, target: &str, value: &str) -> Result<Vec<Act>, Fault> {
        let lines = lines(root, target)?;
        let wanted = Layout::parse(root, &ABOUT, target, value)?.of(&lines, &ABOUT, target)?;
        let moves = || lines.iter().zip(&wanted).filter_map(|(line, cpus)| Some((line, cpus.as_ref()?)));
        // One that is managed and is where it ought to be needs nothing.
        let stuck = |(line, cpus): &(&Line, &CpuSet)| line.irq.managed == Some(true) && line.cpus != **cpus;
        let stuck: Vec<String> = moves().filter(stuck).map(|(line, _)| line.irq.irq.to_string()).collect();
        if !stuck.is_empty() {
            let cause =
                format!("the kernel manages the CPUs of these interrupts itself: {}", stuck.join(", "));
            let remedy = "leave them: the driver spreads them; change the number of queues, or set others with irq-affinity";
            return Err(Fault::new(Class::MachineLacks, format!("{} of {target}", ABOUT.id), cause, remedy));
        }
        let act = |(line, cpus): (&Line, &CpuSet)| Act::WriteFile {
            path: line.path.clone().into(),
            value: if line.takes_list { cpus.to_list() } else { cpus.to_mask() },
            netns: None,
        };
        let moved = || moves().filter(|(line, _)| line.irq.managed != Some(true));
        // All first: each lets irqbalance place anew what it was not asked about yet.
        let bans = moved().filter_map(|(line, _)| irqbalance_banned_irqs::ban(root, line.irq.irq));
        Ok(bans.chain(moved().map(act)).collect())
    }
}

/// One interrupt of a device, with the file that moves it.
struct Line {
    irq: Irq,
    cpus: CpuSet,
    path: String,
    takes_list: bool,
}

/// Network interfaces and disks. What cannot be read of them is no matter of this knob's.
fn devices(root: &Root) -> Vec<Device> {
    let mut notes = Notes::new();
    let mut devices = network::read(root, false, &mut notes);
    devices.extend(block::read(root, false, &mut notes));
    assign(root, &mut devices, &irqs::named(root), &mut notes);
    devices.retain(|device| !device.irqs.is_empty());
    devices
}

/// The interrupts of a device that have an affinity, by number.
fn lines(root: &Root, target: &str) -> Result<Vec<Line>, Fault> {
    let device = devices(root).into_iter().find(|device| device.name == target);
    let device = device.ok_or_else(|| {
        no_such(&ABOUT, target, "there is no such device, or it has no interrupts of its own")
    })?;
    let mut irqs = irqs::some(root, |irq| device.irqs.contains(&irq), &mut Notes::new());
    irqs.sort_by_key(|irq| irq.irq);
    let mut lines = Vec::new();
    for irq in irqs {
        // Vectors that the driver has set aside have no affinity before they are asked for.
        let Ok((path, takes_list)) = existing(root, &irq.irq.to_string()) else { continue };
        let cpus = if takes_list { root.cpu_list(&path)? } else { root.cpu_mask(&path)? };
        lines.push(Line { irq, cpus, path, takes_list });
    }
    match lines.is_empty() {
        true => Err(no_such(&ABOUT, target, "none of its interrupts has an affinity in /proc/irq")),
        false => Ok(lines),
    }
}

#[cfg(test)]
mod tests;
