//! Lines of one device that each take little from the server, but much together: a card or a disk has one for each of its queues.

use std::collections::{BTreeMap, BTreeSet};

use machine::CpuSet;
use machine::devices::DeviceKind;
use machine::wording::{per_second, percent, plural};

use super::{ABOUT, Line};
use crate::diagnosis::cause::{Cause, Remedy, Subject};
use crate::diagnosis::rules::interrupt_lines::can_take_interrupts;
use crate::diagnosis::scene::{MATTERS, Scene};

/// From this number of lines on they are added up.
const AT_LEAST: usize = 4;

/// The lines of one device.
#[derive(Default)]
struct Queues<'a> {
    lines: usize,
    devices: BTreeSet<&'a str>,
    ns: f64,
    count: u64,
    cpus: CpuSet,
    /// The line that took most: how much, ns, and its number.
    most: (f64, u32),
    /// Whether the kernel manages one of them.
    is_managed: bool,
}

/// One cause for each device whose lines matter together; `small` are those that do not by themselves.
pub(super) fn causes(scene: &Scene<'_>, small: &[(u32, (Line, CpuSet))]) -> Vec<Cause> {
    let mut by_subject: BTreeMap<Subject, Queues<'_>> = BTreeMap::new();
    for (irq, (line, cpus)) in small.iter().filter(|(_, (line, _))| line.own.is_none()) {
        let known = scene.situation.machine.irq(*irq);
        let device = known.and_then(|known| known.devices.first()).map(String::as_str);
        let queues = by_subject.entry(subject(scene, device)).or_default();
        queues.lines += 1;
        queues.devices.extend(device);
        queues.ns += line.ns;
        queues.count = queues.count.saturating_add(line.count);
        queues.cpus = queues.cpus.union(cpus);
        queues.is_managed |= known.is_some_and(|known| known.managed == Some(true));
        if queues.most.0 <= line.ns {
            queues.most = (line.ns, *irq);
        }
    }
    let matters = |queues: &Queues<'_>| queues.lines >= AT_LEAST && scene.time.share(queues.ns) >= MATTERS;
    let costly = by_subject.into_iter().filter(|(_, queues)| matters(queues));
    costly.map(|(subject, queues)| cause(scene, subject, &queues)).collect()
}

/// What lines of a device are about; those that are neither a card's nor a disk's are taken together.
fn subject(scene: &Scene<'_>, device: Option<&str>) -> Subject {
    let is = |kind, name: &&str| scene.situation.machine.device(kind, name).is_some();
    let card = device.filter(|name| is(DeviceKind::Net, name));
    let disk = device.filter(|name| is(DeviceKind::Block, name));
    match (card, disk) {
        (Some(name), _) => Subject::Interface { name: name.to_string() },
        (None, Some(name)) => Subject::Disk { name: name.to_string() },
        (None, None) => Subject::Machine,
    }
}

fn cause(scene: &Scene<'_>, subject: Subject, queues: &Queues<'_>) -> Cause {
    let (share, per_s) = (scene.time.share(queues.ns), scene.per_s(queues.count));
    let devices: Vec<&str> = queues.devices.iter().copied().collect();
    let of = if devices.is_empty() { String::new() } else { format!(" of {}", devices.join(", ")) };
    let claim = format!(
        "{} interrupt lines{of}, each of which takes little, arrive at {} {}, where the server runs",
        queues.lines,
        plural("CPU", queues.cpus.len()),
        queues.cpus
    );
    Cause::seen(ABOUT.id, subject, share, claim)
        .because(format!(
            "their handlers took {} of the server's time: {} while it ran or waited; IRQ {} took most",
            percent(share),
            per_second(per_s),
            queues.most.1
        ))
        .figure("interrupts_per_s", per_s)
        .figure("lines", queues.lines as f64)
        .remedy(Remedy::by_hand(elsewhere(scene, queues)))
}

/// To have them arrive elsewhere.
fn elsewhere(scene: &Scene<'_>, queues: &Queues<'_>) -> String {
    let spare = can_take_interrupts(scene);
    match (queues.is_managed, spare.is_empty()) {
        (true, _) => {
            "Place the server elsewhere: the kernel manages these lines and does not let them be moved".into()
        }
        (false, true) => "Keep CPUs for interrupts by placing the server on the others: there are none to which they can go".into(),
        (false, false) => format!(
            "Move each of them to {} {spare} (knob irq-affinity; irqbalance, if it runs, has to leave them alone), or give the device as many queues \
             as there are CPUs for its interrupts (of a card, ethtool -L)",
            plural("CPU", spare.len())
        ),
    }
}

#[cfg(test)]
mod tests {
    use probe::Situation;

    use super::super::DeviceInterrupts;
    use super::*;
    use crate::diagnosis::rules::{Looked, Rule};
    use crate::diagnosis::situation_builder::{SECOND, SituationBuilder, situation};

    /// A card with so many queues, each of whose lines takes a thousandth of a second from the server.
    fn of_queues(count: u32) -> Situation {
        (0..count).fold(situation(), |seen, nth| seen.line(40 + nth, "eth0", DeviceKind::Net, SECOND / 1_000))
    }

    fn look(seen: &Situation) -> Looked {
        DeviceInterrupts.examine(&Scene::of(seen).unwrap())
    }

    #[test]
    fn lines_of_many_queues_matter_together() {
        let mut seen = of_queues(40);
        let Looked::Found(causes) = look(&seen) else { panic!("not found") };
        assert_eq!(causes[0].id.to_string(), "device-interrupts/interface:eth0");
        assert!(causes[0].claim.starts_with("40 interrupt lines of eth0, each"), "{causes:?}");
        assert!(causes[0].share.unwrap() > 0.05 && causes.len() == 1, "{causes:?}");
        seen.machine.irqs[7].managed = Some(true);
        let Looked::Found(causes) = look(&seen) else { panic!("not found") };
        assert!(causes[0].remedies[0].words.contains("does not let them be moved"), "{causes:?}");
        // Whose they are is not known.
        (seen.machine.irqs, seen.machine.devices) = (Vec::new(), Vec::new());
        let Looked::Found(causes) = look(&seen) else { panic!("not found") };
        assert!(causes[0].claim.starts_with("40 interrupt lines, each"), "{causes:?}");
        assert_eq!(look(&of_queues(3)), Looked::Fine);
    }
}
