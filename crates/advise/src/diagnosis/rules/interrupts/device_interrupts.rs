//! A device's interrupts arrive at the server's CPUs.

use std::collections::BTreeMap;

use machine::CpuSet;
use machine::devices::DeviceKind;
use machine::wording::{per_second, percent, plural};

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};

/// The rule `device-interrupts`.
pub struct DeviceInterrupts;

static ABOUT: About = About {
    id: "device-interrupts",
    title: "device interrupts",
    costs: Costs::CpuAccess,
    docs: "Interrupt handlers of a device, such as a network card or a disk, run on a CPU of the server. Each takes a few us, some \
           thousand times a second. The interrupt line is named. It can be moved unless the kernel manages it (multi-queue disks, some cards); \
           then move the server instead. If irqbalance runs and moves lines, it may move this one back: it then has to leave the line alone \
           (irqbalance-banned-irqs). Look-alikes: receive work of a card (receive-work), which follows its line and is charged separately; a \
           disk that swaps because memory is short (swap), which goes quiet once there is enough memory.",
};

impl Rule for DeviceInterrupts {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        let Some(account) = &scene.situation.account else { return Looked::needs_account(&ABOUT) };
        let mut lines: BTreeMap<u32, (f64, u64, CpuSet)> = BTreeMap::new();
        for line in account.lines.iter().filter(|line| line.seen.took_ns() > 0) {
            let (ns, count, cpus) = lines.entry(line.irq).or_default();
            *ns += line.seen.took_ns() as f64;
            *count += line.seen.took_count();
            cpus.insert(line.cpu);
        }
        let costly = lines.into_iter().filter(|(_, (ns, ..))| scene.time.share(*ns) >= MATTERS);
        Looked::of(costly.map(|(irq, (ns, count, cpus))| cause(scene, irq, ns, count, &cpus)).collect())
    }
}

fn cause(scene: &Scene<'_>, irq: u32, ns: f64, count: u64, cpus: &CpuSet) -> Cause {
    let share = scene.time.share(ns);
    let known = scene.situation.machine.irq(irq);
    let name =
        known.map(|line| line.name.as_str()).filter(|name| !name.is_empty()).unwrap_or("device not known");
    let devices = known.map(|line| line.devices.join(", ")).filter(|devices| !devices.is_empty());
    let of = devices.map(|devices| format!(" of {devices}")).unwrap_or_default();
    let claim = format!(
        "IRQ {irq} ({name}){of} arrives at {} {cpus}, where the server runs",
        plural("CPU", cpus.len())
    );
    let cause = Cause::seen(ABOUT.id, Subject::Irq { irq }, share, claim)
        .because(format!(
            "its handlers took {} of the server's time: {} while it ran or waited",
            percent(share),
            per_second(scene.per_s(count))
        ))
        .figure("interrupts_per_s", scene.per_s(count));
    let spare = scene.spare();
    let remedy = match (known.and_then(|line| line.managed), spare.is_empty()) {
        (Some(true), _) => Remedy::by_hand(
            "Place the server elsewhere: the kernel manages this line and does not let it be moved",
        ),
        (_, true) => Remedy::by_hand(
            "Keep a CPU for interrupts by placing the server on the others: there is no CPU that it does not use",
        ),
        (_, false) => {
            let words = format!("Move the line to {} {spare}", plural("CPU", spare.len()));
            let words = format!("{words}{}", irqbalance(scene, irq).unwrap_or_default());
            Remedy::set(words, "irq-affinity", irq, &spare)
        }
    };
    cause.remedy(remedy)
}

/// A warning that irqbalance would move the line back; `None` if it does not run, or leaves the line alone.
fn irqbalance(scene: &Scene<'_>, irq: u32) -> Option<String> {
    let owner = scene.situation.machine.owners.iter().find(|owner| {
        owner.pid.is_some()
            && owner.irqbalance.as_ref().is_some_and(|irqbalance| irqbalance.moves.contains(&irq))
    })?;
    // The knob changes only the running irqbalance; after a restart it reads its settings again.
    let file = owner.settings.first().map(|setting| format!(" in {}", setting.file)).unwrap_or_default();
    Some(format!(
        ": irqbalance (process {}) would move it back, so apply also asks irqbalance to leave the line alone (knob irqbalance-banned-irqs), \
         until irqbalance restarts; to make that permanent, add --banirq={irq} to its arguments{file}",
        owner.pid?
    ))
}

/// Whether a line belongs to a disk.
pub(in crate::diagnosis) fn is_disk(scene: &Scene<'_>, irq: u32) -> bool {
    let machine = &scene.situation.machine;
    let Some(line) = machine.irq(irq) else { return false };
    line.devices.iter().any(|name| machine.device(DeviceKind::Block, name).is_some())
}
