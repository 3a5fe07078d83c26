//! A device's interrupts arrive at the server's CPUs.

mod queues;

use std::collections::BTreeMap;

use machine::CpuSet;
use machine::devices::DeviceKind;
use machine::wording::{per_second, percent, plural};

use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::interrupt_lines::{can_take_interrupts, own_line};
use crate::diagnosis::rules::{About, Costs, Looked, Rule};
use crate::diagnosis::scene::{MATTERS, Scene};
use crate::own_line::OwnLine;

/// The rule `device-interrupts`.
pub struct DeviceInterrupts;

static ABOUT: About = About {
    id: "device-interrupts",
    title: "device interrupts",
    costs: Costs::CpuAccess,
    docs: "Interrupt handlers of a device, such as a network card or a disk, run on a CPU of the server. Each takes a few us, some \
           thousand times a second. The interrupt line is named. It can be moved unless the kernel manages it (multi-queue disks, some cards); \
           then move the server instead. If irqbalance runs and moves lines, it may move this one back: it then has to leave the line alone \
           (irqbalance-banned-irqs). Isolated CPUs are not proposed, even if the server does not use them. Lines of one device that each take little, as \
           those of its queues do, are added up. Look-alikes: receive work of a card (receive-work), which follows its line and is charged \
           separately; a disk that swaps because memory is short (swap), which goes quiet once there is enough memory; on arm64 and RISC-V and in \
           guests of Xen, lines that each CPU has of its own and that cannot be moved: its timer (reported by timers), \
           calls from other CPUs (IPI), counters of events (arm-pmu).",
};

impl Rule for DeviceInterrupts {
    fn about(&self) -> &'static About {
        &ABOUT
    }

    fn examine(&self, scene: &Scene<'_>) -> Looked {
        let Some(account) = &scene.situation.account else { return Looked::needs_account(&ABOUT) };
        let mut lines: BTreeMap<u32, (Line, CpuSet)> = BTreeMap::new();
        for seen in account.lines.iter().filter(|line| line.seen.took_ns() > 0) {
            let own = own_line(scene, seen);
            if own == Some(OwnLine::Timer) {
                continue;
            }
            let (line, cpus) = lines.entry(seen.irq).or_default();
            line.ns += seen.seen.took_ns() as f64;
            line.count += seen.seen.took_count();
            line.own = own;
            cpus.insert(seen.cpu);
        }
        let (costly, small): (Vec<_>, Vec<_>) =
            lines.into_iter().partition(|(_, (line, _))| scene.time.share(line.ns) >= MATTERS);
        let of_one = costly.iter().map(|(irq, (line, cpus))| cause(scene, *irq, line, cpus));
        Looked::of(of_one.chain(queues::causes(scene, &small)).collect())
    }
}

/// What a line took from the server.
#[derive(Default)]
struct Line {
    ns: f64,
    count: u64,
    /// What it is of each CPU, if no device's.
    own: Option<OwnLine>,
}

fn cause(scene: &Scene<'_>, irq: u32, line: &Line, cpus: &CpuSet) -> Cause {
    let share = scene.time.share(line.ns);
    let known = scene.situation.machine.irq(irq);
    let name =
        known.map(|line| line.name.as_str()).filter(|name| !name.is_empty()).unwrap_or("device not known");
    let devices = known.map(|line| line.devices.join(", ")).filter(|devices| !devices.is_empty());
    let of = devices.map(|devices| format!(" of {devices}")).unwrap_or_default();
    let claim = format!(
        "IRQ {irq} ({name}){of} arrives at {} {cpus}, where the server runs",
        plural("CPU", cpus.len())
    );
    Cause::seen(ABOUT.id, Subject::Irq { irq }, share, claim)
        .because(format!(
            "its handlers took {} of the server's time: {} while it ran or waited",
            percent(share),
            per_second(scene.per_s(line.count))
        ))
        .figure("interrupts_per_s", scene.per_s(line.count))
        .remedy(match line.own {
            Some(own) => Remedy::by_hand(format!(
                "Each CPU has this line of its own, so that it cannot be moved. {}",
                find_what_raises(own)
            )),
            None => elsewhere(scene, irq),
        })
}

/// What to do about a line that each CPU has.
fn find_what_raises(own: OwnLine) -> &'static str {
    match own {
        OwnLine::Counters => {
            "A profiler samples or counts there (perf): stop it, or have it sample less often"
        }
        OwnLine::Calls | OwnLine::Timer => {
            "Find what raises it: pinwise watch --full names functions that other CPUs ask for, and timers"
        }
    }
}

/// To have the line of a device arrive elsewhere.
fn elsewhere(scene: &Scene<'_>, irq: u32) -> Remedy {
    let (unused, spare) = (scene.spare(), can_take_interrupts(scene));
    match (scene.situation.machine.irq(irq).and_then(|line| line.managed), spare.is_empty()) {
        (Some(true), _) => Remedy::by_hand(
            "Place the server elsewhere: the kernel manages this line and does not let it be moved",
        ),
        (_, true) if !unused.is_empty() => Remedy::by_hand(format!(
            "Keep a CPU for interrupts by placing the server on fewer: those that it does not use ({unused}) are isolated"
        )),
        (_, true) => Remedy::by_hand(
            "Keep a CPU for interrupts by placing the server on the others: there is no CPU that it does not use",
        ),
        (_, false) => {
            let words = format!("Move the line to {} {spare}", plural("CPU", spare.len()));
            let words = format!("{words}{}", irqbalance(scene, irq).unwrap_or_default());
            Remedy::set(words, "irq-affinity", irq, &spare)
        }
    }
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

#[cfg(test)]
mod tests {
    use probe::Situation;

    use super::*;
    use crate::diagnosis::rules::interrupts::timers::Timers;
    use crate::diagnosis::situation_builder::{SECOND, SituationBuilder, situation};

    fn found(rule: &dyn Rule, seen: &Situation) -> Vec<Cause> {
        match rule.examine(&Scene::of(seen).unwrap()) {
            Looked::Found(causes) => causes,
            Looked::Fine => Vec::new(),
            other => panic!("{other:?}"),
        }
    }

    /// A line on CPU 1 that no device has.
    fn of_no_device(name: &str, chip: &str) -> Situation {
        let mut seen = situation().line(11, name, DeviceKind::Net, SECOND / 20);
        seen.machine.devices.clear();
        seen.machine.irqs[0].devices.clear();
        seen.machine.irqs[0].chip = Some(chip.into());
        seen
    }

    #[test]
    fn a_line_that_each_cpu_has_is_not_moved_and_the_timer_is_no_device() {
        let timers = [("arch_timer", "GICv3"), ("riscv-timer", "RISC-V INTC"), ("timer1", "xen-percpu")];
        for (name, chip) in timers {
            let seen = of_no_device(name, chip);
            assert!(found(&DeviceInterrupts, &seen).is_empty(), "{name}");
            assert_eq!(found(&Timers, &seen)[0].id.to_string(), "timers/interrupt:tick", "{name}");
        }
        for (name, chip) in [("IPI", "GICv3"), ("arm-pmu", "GICv3"), ("callfunc1", "xen-percpu")] {
            let seen = of_no_device(name, chip);
            let remedy = &found(&DeviceInterrupts, &seen)[0].remedies[0];
            assert_eq!(remedy.setting, None, "{name}");
            assert!(remedy.words.contains("cannot be moved"), "{remedy:?}");
            assert!(found(&Timers, &seen).is_empty(), "{name}");
        }
        let of_a_card = of_no_device("timer1", "PCI-MSI");
        assert!(found(&DeviceInterrupts, &of_a_card)[0].remedies[0].setting.is_some());
    }

    #[test]
    fn a_line_is_not_moved_to_cpus_that_are_isolated_for_others() {
        let mut seen = situation().line(9, "eth0", DeviceKind::Net, SECOND / 10);
        seen.machine.kernel.isolated = Some(CpuSet::single(0));
        let remedy = &found(&DeviceInterrupts, &seen)[0].remedies[0];
        assert_eq!(remedy.setting, None);
        assert!(remedy.words.contains("use (0) are isolated"), "{remedy:?}");
        seen.machine.kernel.isolated = Some(CpuSet::single(1));
        let remedy = &found(&DeviceInterrupts, &seen)[0].remedies[0];
        assert_eq!(remedy.setting.as_ref().map(|setting| setting.value.as_str()), Some("0"), "its own is");
    }
}
