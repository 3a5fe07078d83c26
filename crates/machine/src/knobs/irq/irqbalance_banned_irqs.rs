//! Which interrupts the irqbalance that runs leaves alone.

use std::collections::BTreeSet;

use crate::knobs::{About, Knob, MaySet, OwnerId, Target, no_such};
use crate::plan::MACHINE;
use crate::processes::irqbalance_running as irqbalance;
use crate::{Act, Class, CpuSet, Fault, ProcessRef, Root};

/// The knob.
#[derive(Debug)]
pub struct IrqbalanceBannedIrqs;

static ABOUT: About = About {
    id: "irqbalance-banned-irqs",
    title: "Interrupts that the running irqbalance leaves alone",
    docs: "irqbalance moves a busy interrupt line to where it finds best, and all lines when a CPU or device comes or goes. \
           Of those that are named here it keeps its hands off, for as long as it runs. The knob irq-affinity asks for that \
           itself, line by line. Its settings of CPUs, its automatic ban of isolated ones too, stay as they are.",
    unit: "IRQ list such as 38,40-41, or none",
    scope: "the whole machine: target machine",
    owner: "irqbalance-ui; the administrator, by --banirq in the settings of the service",
    owners: &[OwnerId::Irqbalance],
    risk: "A restart of irqbalance forgets the list: its settings last. Each change lets it place all other \
           lines anew. Versions before 1.9.5 take no list of more than 499 characters; those before 1.7 take none.",
    may_set: MaySet::Root,
    source: "irqbalance(1), SOCKET; irqbalance.c, sock_handle",
};

impl Knob for IrqbalanceBannedIrqs {
    fn about(&self) -> &About {
        &ABOUT
    }

    fn targets(&self, root: &Root) -> Result<Vec<Target>, Fault> {
        let target = |process: ProcessRef| Target {
            id: MACHINE.into(),
            what: format!("irqbalance (process {})", process.pid),
        };
        Ok(irqbalance::find(root).map(target).into_iter().collect())
    }

    fn read(&self, root: &Root, target: &str) -> Result<String, Fault> {
        let banned: CpuSet = irqbalance::banned_by(root, &process(root, target)?)?.into_iter().collect();
        Ok(if banned.is_empty() { "none".into() } else { banned.to_list() })
    }

    fn change(&self, root: &Root, target: &str, value: &str) -> Result<Vec<Act>, Fault> {
        let process = process(root, target)?;
        let now = irqbalance::banned_by(root, &process)?;
        let wanted = parse(target, value)?;
        let unknown: CpuSet =
            wanted.difference(&now).copied().filter(|irq| !root.exists(format!("/proc/irq/{irq}"))).collect();
        if !unknown.is_empty() {
            let remedy = "choose from /proc/interrupts";
            return Err(fault(target, format!("there is no IRQ {unknown}"), remedy));
        }
        let act = |banned| move |irq: &u32| Act::SetIrqBan { process, irq: *irq, banned };
        let ban = wanted.difference(&now).map(act(true));
        Ok(ban.chain(now.difference(&wanted).map(act(false))).collect())
    }
}

/// What has irqbalance leave `irq` alone; nothing where none runs that can be asked.
pub(in crate::knobs) fn ban(root: &Root, irq: u32) -> Option<Act> {
    irqbalance::find(root).map(|process| Act::SetIrqBan { process, irq, banned: true })
}

fn process(root: &Root, target: &str) -> Result<ProcessRef, Fault> {
    let found = if target == MACHINE { irqbalance::find(root) } else { None };
    found.ok_or_else(|| match target {
        MACHINE => no_such(&ABOUT, target, &irqbalance::why_none(root)),
        _ => no_such(&ABOUT, target, "the target is 'machine'"),
    })
}

fn parse(target: &str, value: &str) -> Result<BTreeSet<u32>, Fault> {
    let form = format!("write an {}", ABOUT.unit);
    match value.trim() {
        "none" => Ok(BTreeSet::new()),
        "" => Err(fault(target, "nothing is named".into(), &form)),
        list => {
            let irqs = CpuSet::from_list(list);
            let irqs =
                irqs.map_err(|why| fault(target, format!("'{list}' is not a list: {}", why.why), &form))?;
            Ok(irqs.iter().collect())
        }
    }
}

fn fault(target: &str, cause: String, remedy: &str) -> Fault {
    Fault::new(Class::Usage, format!("{} of {target}", ABOUT.id), cause, remedy)
}

#[cfg(test)]
pub(in crate::knobs) mod tests {
    use super::*;
    use crate::Tree;

    /// `tree` with an irqbalance that runs, process [`PROCESS`].
    pub(in crate::knobs) fn with_irqbalance(tree: Tree) -> Tree {
        let stat = "812 (irqbalance) S 1 812 812 0 -1 0 0 0 0 0 0 0 0 0 20 0 1 0 300 0 0\n";
        tree.file("/run/irqbalance/irqbalance812.sock", "")
            .file("/proc/812/net/unix", "0: 2 0 10000 1 1 5 /run/irqbalance/irqbalance812.sock\n")
            .file("/proc/812/stat", stat)
    }

    fn root(answer: &str) -> Root {
        let tree = with_irqbalance(Tree::new().dir("/proc/irq/38").dir("/proc/irq/39"));
        Root::from_tree(tree).with_fact("irqbalance 812", answer)
    }

    pub(in crate::knobs) const PROCESS: ProcessRef = ProcessRef { pid: 812, start_time_ticks: 300 };

    #[test]
    fn only_what_differs_is_reported() {
        let root = root("SLEEP 10 IRQ 38 LOAD 0 DIFF 0 CLASS 0 IRQ 7 LOAD 0 DIFF 0 CLASS 0 BANNED 0");
        assert_eq!(IrqbalanceBannedIrqs.read(&root, "machine").unwrap(), "7,38");
        let acts = |value| IrqbalanceBannedIrqs.change(&root, "machine", value).unwrap();
        let act = |irq, banned| Act::SetIrqBan { process: PROCESS, irq, banned };
        assert_eq!(acts("7,38"), []);
        assert_eq!(acts("38-39"), [act(39, true), act(7, false)]);
        assert_eq!(acts("none"), [act(7, false), act(38, false)]);
        for (value, why) in [("", "nothing"), ("x", "not a list"), ("38-40", "no IRQ 40")] {
            let fault = IrqbalanceBannedIrqs.change(&root, "machine", value).unwrap_err();
            assert!(fault.cause.contains(why), "{fault}");
        }
        assert_eq!(ban(&root, 39), Some(act(39, true)));
    }

    #[test]
    fn where_none_runs_there_is_no_target_and_a_reason() {
        let root = Root::from_tree(Tree::new().dir("/proc"));
        assert_eq!(IrqbalanceBannedIrqs.targets(&root).unwrap(), []);
        let fault = IrqbalanceBannedIrqs.read(&root, "machine").unwrap_err();
        assert!(fault.cause.contains("does not run"), "{fault}");
        assert!(IrqbalanceBannedIrqs.read(&root, "eth0").unwrap_err().cause.contains("'machine'"));
        assert_eq!(ban(&root, 38), None);
        assert_eq!(crate::knobs::find("irqbalance-banned-irqs").unwrap().about().id, ABOUT.id);
    }
}
