//! Whether a machine is the one that was measured.

use super::{MadeOn, Place};
use crate::procfs::cpuinfo;
use crate::topology::cpus::Cpu;
use crate::{Machine, Root};

impl MadeOn {
    /// A machine, and the root that it was read from.
    pub fn of(machine: &Machine, root: &Root) -> Self {
        let online = machine.cpus.iter().filter(|cpu| cpu.online);
        let place = |cpu: &Cpu| Place { cpu: cpu.id, package: cpu.package, node: cpu.node, core: cpu.core };
        Self { model: model(root), present: machine.present.clone(), places: online.map(place).collect() }
    }

    /// In words what makes another machine of this one; `None` for the same machine, also when other CPUs are offline by now.
    /// What is not known of either is no difference.
    pub fn differs_from(&self, machine: &Machine, root: &Root) -> Option<String> {
        let told = |what: &str, then: &str, now: &str| format!("{what} {then}, and this machine has {now}");
        if let (Some(then), Some(now)) = (&self.model, &model(root))
            && then != now
        {
            return Some(told("CPUs of the model", then, now));
        }
        if let (Some(then), Some(now)) = (&self.present, &machine.present)
            && then != now
        {
            return Some(told("CPUs", &then.to_list(), &now.to_list()));
        }
        self.places.iter().find_map(|place| place.moved(machine))
    }
}

impl Place {
    fn moved(&self, machine: &Machine) -> Option<String> {
        let Some(now) = machine.cpu(self.cpu) else {
            return Some(format!("CPU {} is not there", self.cpu));
        };
        if !now.online {
            return None;
        }
        let facts = [
            ("package", self.package, now.package),
            ("node", self.node, now.node),
            ("core", self.core, now.core),
        ];
        let moved =
            facts.iter().find_map(|(what, then, now)| Some((what, (*then)?, (*now)?)).filter(|f| f.1 != f.2));
        moved
            .map(|(what, then, now)| format!("CPU {} was of {what} {then}, and is of {what} {now}", self.cpu))
    }
}

fn model(root: &Root) -> Option<String> {
    cpuinfo::first(&root.read("/proc/cpuinfo").ok()?, "model name").map(String::from)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Tree;

    fn machine(nodes: [u32; 3]) -> Machine {
        let cpu = |(id, node)| Cpu { id, online: true, node: Some(node), ..Cpu::default() };
        Machine {
            cpus: (0..).zip(nodes).map(cpu).collect(),
            present: Some((0..3).collect()),
            ..Machine::default()
        }
    }

    fn root(model: &str) -> Root {
        Root::from_tree(Tree::new().file("/proc/cpuinfo", format!("processor : 0\nmodel name\t: {model}\n")))
    }

    #[test]
    fn other_cpus_are_another_machine_and_offline_ones_are_not() {
        let made_on = MadeOn::of(&machine([0, 0, 1]), &root("A"));
        let differs = |machine: &Machine, model: &str| made_on.differs_from(machine, &root(model));
        assert_eq!(differs(&machine([0, 0, 1]), "A"), None);
        assert!(differs(&machine([0, 0, 1]), "B").unwrap().contains("A, and this machine has B"));
        let moved = differs(&machine([0, 1, 1]), "A").unwrap();
        assert!(moved.contains("CPU 1 was of node 0, and is of node 1"), "{moved}");
        let mut fewer = machine([0, 0, 1]);
        fewer.cpus[1] = Cpu { id: 1, ..Cpu::default() };
        assert_eq!(differs(&fewer, "A"), None);
        fewer.cpus.pop();
        assert!(differs(&fewer, "A").unwrap().contains("CPU 2 is not there"));
        fewer.present = Some((0..2).collect());
        assert!(differs(&fewer, "A").unwrap().contains("CPUs 0-2, and this machine has 0-1"));
        assert_eq!(made_on.differs_from(&machine([0, 0, 1]), &Root::from_tree(Tree::new())), None);
    }
}
