//! Whether a guest of a shape can be made at all: checked before anything is started.

use std::collections::BTreeSet;

use machine::{Class, Fault};

use super::{LEAST_NODE_MB, Shape};

/// Most CPUs of a guest: APIC numbers above 254 need an x2APIC, which QEMU's software emulation has only from 9.0 on.
pub const MOST_CPUS: usize = 255;

/// Most queue pairs of a virtio network card (VIRTIO_NET_CTRL_MQ_VQ_PAIRS_MAX is more; a tap takes 256).
pub const MOST_QUEUES: u32 = 256;

/// Most devices: each on a node takes a bus number, and each node with any takes one more.
pub const MOST_DEVICES: usize = 96;

/// Most devices on no node: QEMU's first bus has 32 slots, of which others take some.
pub const MOST_LOOSE_DEVICES: usize = 20;

/// Largest disk, MB. The file is sparse.
pub const MOST_DISK_MB: u64 = 1 << 20;

impl Shape {
    /// Whether QEMU can make it and Linux number it so.
    ///
    /// # Errors
    /// The first thing that cannot be, with what would make it possible.
    pub fn check(&self) -> Result<(), Fault> {
        self.check_cpus().and_then(|()| self.check_nodes()).and_then(|()| self.check_devices())
    }

    fn check_cpus(&self) -> Result<(), Fault> {
        let mut seen = BTreeSet::new();
        for cpu in self.cores.iter().flat_map(|core| &core.cpus) {
            if !seen.insert(*cpu) {
                return Err(self.cannot(format!("CPU {cpu} sits in two cores"), "name each CPU once"));
            }
        }
        let count = seen.len();
        if count == 0 || self.cores.iter().any(|core| core.cpus.is_empty()) {
            return Err(self.cannot("a core without a CPU", "give each core at least one CPU"));
        }
        if count > MOST_CPUS {
            let cause = format!("{count} CPUs, and a guest without x2APIC has at most {MOST_CPUS}");
            return Err(self.cannot(cause, "rehearse on a part of the machine, as a shape file"));
        }
        // The kernel gives numbers in order, without holes (arch/x86/kernel/apic/apic.c, generic_processor_info).
        if let Some(hole) = (0..count as u32).find(|cpu| !seen.contains(cpu)) {
            let cause = format!("CPU {hole} has no place, and Linux numbers possible CPUs without holes");
            return Err(self.cannot(cause, "name it as absent, in a core"));
        }
        for (what, set) in [("offline", &self.offline), ("absent", &self.absent)] {
            if let Some(cpu) = set.iter().find(|cpu| !seen.contains(cpu)) {
                return Err(self.cannot(format!("{what} CPU {cpu} has no place"), "put it in a core"));
            }
        }
        if self.offline.contains(0) || self.absent.contains(0) {
            let cause = "CPU 0 is to be offline or absent, and kernels of guests boot on it and keep it";
            return Err(self.cannot(cause, "leave CPU 0 online"));
        }
        if self.cores.iter().any(|core| core.cpus.contains(&0) && core.cpus[0] != 0) {
            return Err(self.cannot(
                "CPU 0 is not the first thread of its core",
                "name CPU 0 first: it is the one that boots",
            ));
        }
        if let Some(cpu) = self.offline.intersection(&self.absent).first() {
            return Err(self.cannot(format!("CPU {cpu} is offline and absent"), "name it in one of the two"));
        }
        // The kernel numbers what is plugged without holes, and QEMU's guests (7.2) lock up when a CPU in the middle is
        // ejected and another is set offline afterwards.
        let below = |highest| self.absent.iter().find(|cpu| *cpu < highest);
        match self.present().last().and_then(below) {
            Some(cpu) => {
                let cause = format!("CPU {cpu} is absent, and one with a higher number is there");
                Err(self.cannot(cause, "make the highest ones absent; others can be offline"))
            }
            None => Ok(()),
        }
    }

    fn check_nodes(&self) -> Result<(), Fault> {
        for (at, node) in self.nodes.iter().enumerate() {
            // Linux gives node numbers in the order in which the table lists them (drivers/acpi/numa/srat.c).
            if node.id != at as u32 {
                return Err(self
                    .cannot(format!("node {} stands {at} in the list", node.id), "number nodes from 0 on"));
            }
            if node.memory_mb > 0 && node.memory_mb < LEAST_NODE_MB {
                let cause = format!("node {} has {} MB", node.id, node.memory_mb);
                return Err(self.cannot(cause, format!("give a node nothing or at least {LEAST_NODE_MB} MB")));
            }
            // QEMU: a local distance is 10 and the others are more, up to 254 (hw/core/numa.c).
            for (to, distance) in &node.distances {
                if (*to == node.id) != (*distance == 10) || !(10..=254).contains(distance) {
                    let cause = format!("distance {distance} from node {} to node {to}", node.id);
                    return Err(self.cannot(cause, "10 is local; others are from 11 to 254"));
                }
            }
        }
        if !self.nodes.is_empty() && self.nodes[0].memory_mb == 0 {
            return Err(self.cannot("node 0 has no memory, and the kernel boots there", "give it some"));
        }
        let nodes = self.nodes.len() as u32;
        let wrong = |node: Option<u32>| match node {
            Some(node) => node >= nodes,
            None => nodes > 0,
        };
        match self.cores.iter().find(|core| wrong(core.node)) {
            Some(core) => {
                let cause = format!("the core of CPU {} is on no node of the list", core.cpus[0]);
                Err(self.cannot(cause, "name a node for each core, or no nodes at all"))
            }
            None => Ok(()),
        }
    }

    fn check_devices(&self) -> Result<(), Fault> {
        let nodes = self.nodes.len() as u32;
        if let Some(node) = self.device_nodes().flatten().find(|node| *node >= nodes) {
            return Err(
                self.cannot(format!("a device hangs on node {node}"), "name a node of the list, or none")
            );
        }
        if let Some(nic) = self.nics.iter().find(|nic| !(1..=MOST_QUEUES).contains(&nic.queues)) {
            let cause = format!("a network card with {} queue pairs", nic.queues);
            return Err(self.cannot(cause, format!("from 1 to {MOST_QUEUES}")));
        }
        if let Some(disk) = self.disks.iter().find(|disk| !(1..=MOST_DISK_MB).contains(&disk.size_mb)) {
            let cause = format!("a disk of {} MB", disk.size_mb);
            return Err(self.cannot(cause, format!("give size_mb from 1 to {MOST_DISK_MB}")));
        }
        let loose = self.device_nodes().filter(Option::is_none).count();
        if self.device_nodes().count() > MOST_DEVICES || loose > MOST_LOOSE_DEVICES {
            let cause = format!("{} devices, {loose} of them on no node", self.device_nodes().count());
            let remedy = format!("at most {MOST_DEVICES}, and {MOST_LOOSE_DEVICES} on no node");
            return Err(self.cannot(cause, remedy));
        }
        match self.idle_states.iter().find(|state| !(1..=3).contains(&state.depth)) {
            Some(state) => {
                Err(self.cannot(format!("idle state of type {}", state.depth), "ACPI knows 1, 2 and 3"))
            }
            None => Ok(()),
        }
    }

    pub(crate) fn cannot(&self, cause: impl std::fmt::Display, remedy: impl Into<String>) -> Fault {
        Fault::new(Class::Usage, format!("shape {}", self.name), format!("cannot be made: {cause}"), remedy)
    }
}

#[cfg(test)]
mod tests {
    use super::super::catalogue;
    use super::*;

    fn spoilt(spoil: impl FnOnce(&mut Shape)) -> String {
        let mut shape = catalogue::find("two-node-smt").unwrap().unwrap();
        spoil(&mut shape);
        shape.check().unwrap_err().to_string()
    }

    #[test]
    fn what_cannot_be_is_refused_with_the_reason() {
        assert!(spoilt(|s| s.cores[1].cpus[0] = 0).contains("CPU 0 sits in two cores"));
        assert!(spoilt(|s| s.cores.truncate(0)).contains("a core without a CPU"));
        assert!(spoilt(|s| s.cores[0].cpus[1] = 99).contains("without holes"));
        let set = |cpu: u32| machine::CpuSet::single(cpu);
        assert!(spoilt(|s| s.absent = set(3)).contains("one with a higher number is there"));
        for spoil in [
            |s: &mut Shape| s.absent = machine::CpuSet::single(0),
            |s: &mut Shape| s.offline = machine::CpuSet::single(0),
            |s: &mut Shape| s.absent = s.possible(),
        ] {
            assert!(spoilt(spoil).contains("CPU 0 is to be offline or absent"));
        }
        assert!(spoilt(|s| s.cores[0].cpus.reverse()).contains("not the first thread"));
        assert!(spoilt(|s| [s.offline, s.absent] = [set(7), set(7)]).contains("CPU 7 is offline and absent"));
        assert!(spoilt(|s| s.nics = vec![s.nics[0].clone(); 97]).contains("98 devices"));
        assert!(spoilt(|s| s.offline = [70].into_iter().collect()).contains("offline CPU 70 has no place"));
        assert!(spoilt(|s| s.nodes[1].id = 4).contains("node 4 stands 1"));
        assert!(spoilt(|s| s.nodes[1].memory_mb = 3).contains("node 1 has 3 MB"));
        assert!(
            spoilt(|s| _ = s.nodes[0].distances.insert(1, 10)).contains("distance 10 from node 0 to node 1")
        );
        assert!(spoilt(|s| s.nodes[0].memory_mb = 0).contains("the kernel boots there"));
        assert!(spoilt(|s| s.cores[0].node = None).contains("no node of the list"));
        assert!(spoilt(|s| s.nics[0].node = Some(7)).contains("hangs on node 7"));
        assert!(spoilt(|s| s.nics[0].queues = 0).contains("0 queue pairs"));
    }

    #[test]
    fn more_cpus_than_the_interrupt_controller_can_name_are_refused() {
        let many = |s: &mut Shape| {
            let node = s.cores[0].node;
            s.cores = (0..256)
                .map(|cpu| super::super::Core { node, cpus: vec![cpu], ..Default::default() })
                .collect();
        };
        assert!(spoilt(many).contains("at most 255"));
    }
}
