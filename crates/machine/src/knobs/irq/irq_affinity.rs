//! Which CPUs an interrupt may be delivered to.

use super::irqbalance_banned_irqs;
use crate::knobs::{About, Knob, MaySet, OwnerId, Target, cpus, no_such};
use crate::{Act, Class, CpuSet, Fault, Root};

/// The knob.
#[derive(Debug)]
pub struct IrqAffinity;

static ABOUT: About = About {
    id: "irq-affinity",
    title: "CPUs that an interrupt may be delivered to",
    docs: "Most interrupt controllers deliver to one CPU of the set, often the first. The handler, and the softirq work \
           that it raises, run there and take time from whatever else runs there: move a busy device's interrupt off \
           the CPU of a server, and for a network card onto a CPU of the card's node.",
    unit: "CPU list",
    scope: "one IRQ number of /proc/irq",
    owner: "irqbalance, which pinwise has leave the IRQ alone (knob irqbalance-banned-irqs); before 1.7 it has no such command, and \
            unless started with --banirq moves it again when it evens out the load, or a CPU or device comes or goes; tuned; tuna; drivers that set hints (virtio_net at CPU hotplug)",
    owners: &[OwnerId::Irqbalance, OwnerId::Tuned, OwnerId::Tuna],
    risk: "The kernel refuses managed interrupts (NVMe, virtio-blk: EIO or EPERM) and CPUs without a free vector (ENOSPC). \
           Some controllers take the new CPU only at the next interrupt.",
    may_set: MaySet::Root,
    source: "Documentation/core-api/irq/irq-affinity.rst; proc_irq(5)",
};

impl Knob for IrqAffinity {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn targets(&self, root: &Root) -> Result<Vec<Target>, Fault> {
        let names = match root.list("/proc/irq") {
            Err(e) if e.is_absent() => return Ok(Vec::new()),
            names => names?,
        };
        let irqs = names.into_iter().filter(|name| number(name).is_some() && file(root, name).is_some());
        Ok(irqs.map(|id| Target { what: handlers(root, &id), id }).collect())
    }

    fn read(&self, root: &Root, target: &str) -> Result<String, Fault> {
        let (path, is_list) = existing(root, target)?;
        let cpus = if is_list { root.cpu_list(path)? } else { root.cpu_mask(path)? };
        Ok(cpus.to_list())
    }

    fn change(&self, root: &Root, target: &str, value: &str) -> Result<Vec<Act>, Fault> {
        let (path, is_list) = existing(root, target)?;
        let cpus: CpuSet = cpus(root, &ABOUT, target, value)?;
        if cpus.is_empty() {
            let remedy = "name at least one CPU: an interrupt has to be delivered somewhere";
            return Err(Fault::new(
                Class::Usage,
                format!("{} of {target}", ABOUT.id),
                "the set is empty",
                remedy,
            ));
        }
        let value = if is_list { cpus.to_list() } else { cpus.to_mask() };
        // First, so that it cannot be moved in between; undone last.
        let ban = number(target).and_then(|irq| irqbalance_banned_irqs::ban(root, irq));
        let write = Act::WriteFile { path: path.into(), value, netns: None };
        Ok(ban.into_iter().chain([write]).collect())
    }
}

fn number(target: &str) -> Option<u32> {
    target.parse().ok().filter(|_| target.bytes().all(|byte| byte.is_ascii_digit()))
}

/// The file, and whether it takes a list; kernels before 2.6.38 have the mask alone.
fn file(root: &Root, irq: &str) -> Option<(String, bool)> {
    let path = |name| format!("/proc/irq/{irq}/{name}");
    let files = [(path("smp_affinity_list"), true), (path("smp_affinity"), false)];
    files.into_iter().find(|(path, _)| root.exists(path))
}

pub(in crate::knobs) fn existing(root: &Root, target: &str) -> Result<(String, bool), Fault> {
    number(target)
        .and_then(|_| file(root, target))
        .ok_or_else(|| no_such(&ABOUT, target, "there is no such IRQ with an affinity in /proc/irq"))
}

/// Each handler of an interrupt has a folder of its name.
fn handlers(root: &Root, irq: &str) -> String {
    let is_folder = |name: &String| root.list(format!("/proc/irq/{irq}/{name}")).is_ok();
    let names: Vec<String> = root.list(format!("/proc/irq/{irq}")).unwrap_or_default();
    let names: Vec<String> = names.into_iter().filter(is_folder).collect();
    if names.is_empty() { "no handler".into() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;
    use crate::knobs::irq::irqbalance_banned_irqs::tests::{PROCESS, with_irqbalance};

    fn root() -> Root {
        Root::from_tree(
            Tree::new()
                .file("/sys/devices/system/cpu/online", "0-3\n")
                .file("/proc/irq/default_smp_affinity", "f\n")
                .file("/proc/irq/38/smp_affinity_list", "0-1\n")
                .file("/proc/irq/38/smp_affinity", "3\n")
                .dir("/proc/irq/38/virtio2-input.0")
                .file("/proc/irq/4/smp_affinity", "c\n")
                .file("/proc/irq/5/smp_affinity_list", "x\n"),
        )
    }

    #[test]
    fn lists_where_there_are_lists_and_masks_where_not() {
        let targets = IrqAffinity.targets(&root()).unwrap();
        let named: Vec<(&str, &str)> = targets.iter().map(|t| (t.id.as_str(), t.what.as_str())).collect();
        assert_eq!(named, [("4", "no handler"), ("5", "no handler"), ("38", "virtio2-input.0")]);
        assert_eq!(IrqAffinity.read(&root(), "38").unwrap(), "0-1");
        assert_eq!(IrqAffinity.read(&root(), "4").unwrap(), "2-3");
        let acts = IrqAffinity.change(&root(), "4", "0,1").unwrap();
        let path = "/proc/irq/4/smp_affinity".into();
        assert_eq!(acts, [Act::WriteFile { path, value: "3".into(), netns: None }]);
    }

    #[test]
    fn an_irqbalance_that_runs_gets_the_ban_first() {
        let root =
            Root::from_tree(with_irqbalance(Tree::new().file("/proc/irq/38/smp_affinity_list", "0-1\n")));
        let write = |value: &str| Act::WriteFile {
            path: "/proc/irq/38/smp_affinity_list".into(),
            value: value.into(),
            netns: None,
        };
        let ban = Act::SetIrqBan { process: PROCESS, irq: 38, banned: true };
        assert_eq!(IrqAffinity.change(&root, "38", "1").unwrap(), [ban, write("1")]);
    }

    #[test]
    fn a_malformed_file_and_impossible_values_are_refused() {
        assert!(IrqAffinity.read(&root(), "5").unwrap_err().to_string().contains("/proc/irq/5"));
        for (value, why) in [("", "empty"), ("x", "not a number"), ("9", "not online"), ("0-9", "4-9")] {
            let fault = IrqAffinity.change(&root(), "38", value).unwrap_err();
            assert!(fault.cause.contains(why) && fault.object.contains("38"), "{fault}");
        }
    }
}
