//! The shape of a machine that was read: live, or from a capture.

use std::collections::{BTreeMap, BTreeSet};

use machine::devices::{Device, DeviceKind};
use machine::{CpuSet, Fault, Machine};

use super::check::{MOST_LOOSE_DEVICES, MOST_QUEUES};
use super::{Core, Disk, DiskKind, IdleState, LEAST_NODE_MB, Nic, Node, Shape};

/// Memory that the nodes of a guest share, MB, and what each has at least.
const MEMORY_MB: u64 = 768;
const NODE_MB: u64 = 128;

/// Above this many CPUs the deeper idle states, which QEMU emulates as reads of a port, take the host's CPUs.
const MOST_CPUS_WITH_IDLE_STATES: usize = 4;

/// ACPI has three types of idle states.
const MOST_IDLE_STATES: usize = 3;

/// Size of a guest's disk, MB, whatever the machine's own has.
const DISK_MB: u64 = 64;

impl Shape {
    /// The shape of this machine. What a guest cannot take over stands in [`Shape::differs`].
    ///
    /// # Errors
    /// When no guest of it can be made: more CPUs than an APIC can name, no CPUs known.
    pub fn of(machine: &Machine) -> Result<Self, Fault> {
        let mut differs = Vec::new();
        let nodes = Nodes::of(machine, &mut differs);
        let mut cores = known_cores(machine, &nodes);
        let lost = place_the_others(machine, &mut cores);
        if !lost.is_empty() {
            differs.push(format!(
                "CPUs {} are not online, so their cores are not known: each got a place by guess",
                lost.to_list()
            ));
        }
        let possible: CpuSet = cores.iter().flat_map(|core| core.cpus.iter().copied()).collect();
        let present =
            machine.present.clone().unwrap_or_else(|| machine.cpus.iter().map(|cpu| cpu.id).collect());
        // Holes in what is there cannot be made, see [`Shape::check`]; what is missing there is offline instead.
        let highest = present.last().unwrap_or(0);
        let absent: CpuSet = possible.difference(&present).iter().filter(|cpu| *cpu > highest).collect();
        let holes = possible.difference(&present).difference(&absent);
        if !holes.is_empty() {
            differs.push(format!("CPUs {} are offline in the guest, not absent", holes.to_list()));
        }
        let mut offline = possible.difference(&machine.online()).difference(&absent);
        if offline.contains(0) {
            differs.push("CPU 0 is online in the guest: its kernel boots there and keeps it".into());
            offline = offline.difference(&CpuSet::single(0));
        }
        let shape = Self {
            name: "this machine".into(),
            about: about(machine),
            offline,
            absent,
            nics: few(nics(machine, &nodes, possible.len(), &mut differs), "network cards", &mut differs),
            disks: few(disks(machine, &nodes), "disks", &mut differs),
            idle_states: idle_states(machine, &mut differs),
            nodes: nodes.list,
            cores,
            differs,
        };
        shape.check()?;
        Ok(shape)
    }
}

fn about(machine: &Machine) -> String {
    let online = machine.online().len();
    let release = machine.kernel.release.as_deref().unwrap_or("unknown");
    format!("{online} CPUs online, {} nodes, kernel {release}", machine.nodes.len().max(1))
}

/// Nodes with the numbers that the guest gives them.
struct Nodes {
    list: Vec<Node>,
    numbers: BTreeMap<u32, u32>,
}

impl Nodes {
    fn of(machine: &Machine, differs: &mut Vec<String>) -> Self {
        let mut listed: Vec<&machine::topology::nodes::Node> = machine.nodes.iter().collect();
        // The kernel boots from node 0, which must have memory.
        listed.sort_by_key(|node| (node.memory_bytes == Some(0) && node.id == 0, node.id));
        let numbers: BTreeMap<u32, u32> = listed.iter().zip(0..).map(|(node, at)| (node.id, at)).collect();
        if let Some((was, is)) = numbers.iter().find(|(was, is)| was != is) {
            differs.push(format!("nodes are numbered without holes: node {was} is node {is} in the guest"));
        }
        let total: u64 = machine.nodes.iter().filter_map(|node| node.memory_bytes).sum();
        let memory_mb = |bytes: Option<u64>| match bytes {
            Some(0) => 0,
            None => NODE_MB,
            Some(bytes) => {
                let share = u128::from(MEMORY_MB) * u128::from(bytes) / u128::from(total.max(1));
                u64::try_from(share).unwrap_or(MEMORY_MB).max(NODE_MB).max(LEAST_NODE_MB)
            }
        };
        let distance = |from: &machine::topology::nodes::Node, to: u32| match from.distances.get(&to) {
            _ if from.id == to => 10,
            Some(reported) => (*reported).clamp(11, 254),
            None => 20,
        };
        let list = listed.iter().map(|node| Node {
            id: numbers[&node.id],
            memory_mb: memory_mb(node.memory_bytes),
            distances: numbers.iter().map(|(to, number)| (*number, distance(node, *to))).collect(),
        });
        Self { list: list.collect(), numbers }
    }

    /// Number in the guest; the first node for a CPU whose node is not reported, where there are nodes.
    fn of_cpu(&self, node: Option<u32>) -> Option<u32> {
        let reported = node.and_then(|node| self.numbers.get(&node).copied());
        reported.or(self.list.first().map(|first| first.id))
    }

    fn of_device(&self, node: Option<u32>) -> Option<u32> {
        node.and_then(|node| self.numbers.get(&node).copied())
    }
}

/// Cores of the CPUs whose place the kernel reports: those that are online.
fn known_cores(machine: &Machine, nodes: &Nodes) -> Vec<Core> {
    let mut cores: BTreeMap<Vec<u32>, Core> = BTreeMap::new();
    for cpu in machine.cpus.iter().filter(|cpu| cpu.online) {
        let siblings = cpu.siblings.clone().unwrap_or_else(|| CpuSet::single(cpu.id));
        let cpus: Vec<u32> = siblings.iter().collect();
        cores.entry(cpus.clone()).or_insert_with(|| Core {
            package: cpu.package.unwrap_or(0),
            die: cpu.die.unwrap_or(0),
            node: nodes.of_cpu(cpu.node),
            cpus,
        });
    }
    let mut cores: Vec<Core> = cores.into_values().collect();
    split_dies(&mut cores);
    cores
}

/// On many machines with several nodes a package the kernel reports no dies; QEMU needs a die for each node.
fn split_dies(cores: &mut [Core]) {
    let mut nodes: BTreeMap<(u32, u32), BTreeSet<Option<u32>>> = BTreeMap::new();
    for core in cores.iter() {
        nodes.entry((core.package, core.die)).or_default().insert(core.node);
    }
    let most = nodes.values().map(BTreeSet::len).max().unwrap_or(1) as u32;
    for core in cores.iter_mut().filter(|_| most > 1) {
        let of_die = &nodes[&(core.package, core.die)];
        let at = of_die.iter().position(|node| *node == core.node).unwrap_or(0) as u32;
        core.die = core.die * most + at;
    }
}

/// Gives a place to CPUs whose place is not reported, as they are not online: first beside a core that is missing a thread, in
/// the order of the numbers; then in cores of their own, one package after the other. Returns which they were.
fn place_the_others(machine: &Machine, cores: &mut Vec<Core>) -> CpuSet {
    let known: CpuSet = cores.iter().flat_map(|core| core.cpus.iter().copied()).collect();
    let possible =
        machine.possible.clone().unwrap_or_else(|| machine.cpus.iter().map(|cpu| cpu.id).collect());
    // A BIOS may announce hundreds of CPUs that will never come; those above the highest present one that make more
    // than a guest can have are left out.
    let lost: CpuSet =
        possible.difference(&known).iter().filter(|cpu| *cpu < super::check::MOST_CPUS as u32).collect();
    let threads = cores.iter().map(|core| core.cpus.len()).max().unwrap_or(1);
    let mut next = 0;
    for cpu in lost.iter() {
        let partial = cores.iter().position(|core| core.cpus.len() < threads);
        if let Some(at) = partial {
            cores[at].cpus.push(cpu);
            continue;
        }
        let Some(beside) = cores.get(next % cores.len().max(1)).cloned() else { break };
        next += 1;
        cores.push(Core { cpus: vec![cpu], ..beside });
    }
    for core in cores.iter_mut() {
        core.cpus.sort_unstable();
    }
    lost
}

fn hardware(machine: &Machine, kind: DeviceKind) -> impl Iterator<Item = &Device> {
    machine
        .devices
        .iter()
        .filter(move |device| device.kind == kind && !device.is_virtual && device.pci.is_some())
}

fn nics(machine: &Machine, nodes: &Nodes, cpus: usize, differs: &mut Vec<String>) -> Vec<Nic> {
    let most = MOST_QUEUES.min(cpus as u32).max(1);
    let mut capped = false;
    let nics = hardware(machine, DeviceKind::Net).map(|device| {
        let queues = device.queues.iter().filter(|queue| queue.name.starts_with("rx-")).count() as u32;
        capped |= queues > most;
        Nic { node: nodes.of_device(device.node), queues: queues.clamp(1, most) }
    });
    let nics = nics.collect();
    if capped {
        differs.push(format!("network cards have at most {most} queues in the guest, one a CPU"));
    }
    nics
}

fn disks(machine: &Machine, nodes: &Nodes) -> Vec<Disk> {
    let kind = |device: &Device| match device.name.starts_with("nvme") {
        true => DiskKind::Nvme,
        false => DiskKind::Virtio,
    };
    hardware(machine, DeviceKind::Block)
        .map(|device| Disk { node: nodes.of_device(device.node), kind: kind(device), size_mb: DISK_MB })
        .collect()
}

/// As many of these devices as a guest is given: with the others' as many, they fit.
fn few<T>(mut devices: Vec<T>, what: &str, differs: &mut Vec<String>) -> Vec<T> {
    let most = MOST_LOOSE_DEVICES / 2;
    if devices.len() > most {
        differs.push(format!("{most} {what} of {}", devices.len()));
        devices.truncate(most);
    }
    devices
}

fn idle_states(machine: &Machine, differs: &mut Vec<String>) -> Vec<IdleState> {
    let reported: Vec<u64> = machine
        .idle
        .states
        .iter()
        .filter(|state| state.name != "POLL")
        .filter_map(|s| s.exit_latency_us)
        .collect();
    if reported.is_empty() {
        return Vec::new();
    }
    if machine.online().len() > MOST_CPUS_WITH_IDLE_STATES {
        let most = MOST_CPUS_WITH_IDLE_STATES;
        differs.push(format!(
            "no idle states: with more than {most} CPUs their emulation takes the host's CPUs"
        ));
        return Vec::new();
    }
    if reported.len() > MOST_IDLE_STATES {
        differs.push(format!("{MOST_IDLE_STATES} idle states of {}: ACPI has no more types", reported.len()));
    }
    let kept =
        reported.iter().take(MOST_IDLE_STATES - 1).chain(reported.iter().skip(MOST_IDLE_STATES - 1).last());
    let state = |(depth, us): (u8, &u64)| IdleState {
        depth,
        exit_latency_us: u16::try_from(*us).unwrap_or(u16::MAX),
    };
    (1..).zip(kept).map(state).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shape::catalogue;

    /// The machine that Linux shows where it runs on this shape.
    fn machine_like(shape: &Shape) -> Machine {
        let mut machine = Machine::default();
        let online = shape.present().difference(&shape.offline);
        for core in &shape.cores {
            for cpu in &core.cpus {
                let there = online.contains(*cpu);
                machine.cpus.push(machine::topology::cpus::Cpu {
                    id: *cpu,
                    online: there,
                    package: there.then_some(core.package),
                    die: there.then_some(core.die),
                    node: core.node.filter(|_| there),
                    siblings: there
                        .then(|| core.cpus.iter().copied().filter(|c| online.contains(*c)).collect()),
                    ..Default::default()
                });
            }
        }
        machine.cpus.retain(|cpu| shape.present().contains(cpu.id));
        machine.cpus.sort_by_key(|cpu| cpu.id);
        machine.possible = Some(shape.possible());
        machine.present = Some(shape.present());
        machine.nodes = shape
            .nodes
            .iter()
            .map(|node| machine::topology::nodes::Node {
                id: node.id,
                memory_bytes: Some(node.memory_mb << 20),
                distances: node.distances.clone(),
                ..Default::default()
            })
            .collect();
        machine
    }

    fn places(shape: &Shape) -> BTreeSet<(u32, Option<u32>, Vec<u32>)> {
        shape.cores.iter().map(|core| (core.package, core.node, core.cpus.clone())).collect()
    }

    #[test]
    fn the_shape_of_a_machine_of_a_shape_is_that_shape() {
        for name in [
            "artemis",
            "leviathan",
            "corsair",
            "two-node-smt",
            "memory-only-node",
            "memoryless-node",
            "plain",
        ] {
            let shape = catalogue::find(name).unwrap().unwrap();
            let again = Shape::of(&machine_like(&shape)).unwrap();
            assert_eq!(places(&again), places(&shape), "{name}");
            let table =
                |shape: &Shape| shape.nodes.iter().map(|n| (n.id, n.distances.clone())).collect::<Vec<_>>();
            assert_eq!(table(&again), table(&shape), "{name}");
            assert!(again.differs.is_empty(), "{name}: {:?}", again.differs);
        }
    }

    #[test]
    fn cpus_that_are_not_online_get_a_place_and_a_word() {
        for name in ["offline-cpus", "sparse"] {
            let shape = catalogue::find(name).unwrap().unwrap();
            let again = Shape::of(&machine_like(&shape)).unwrap();
            assert_eq!(
                (again.possible(), &again.absent, &again.offline),
                (shape.possible(), &shape.absent, &shape.offline)
            );
            assert!(again.differs[0].contains("by guess"), "{:?}", again.differs);
        }
    }

    #[test]
    fn a_hole_in_what_is_there_becomes_offline_with_a_word() {
        let mut machine = machine_like(&catalogue::find("plain").unwrap().unwrap());
        machine.cpus.remove(2);
        machine.present = Some([0, 1, 3].into_iter().collect());
        let shape = Shape::of(&machine).unwrap();
        assert_eq!((shape.offline.to_list(), shape.absent.len()), ("2".to_string(), 0));
        assert!(
            shape.differs.iter().any(|word| word.contains("CPUs 2 are offline in the guest")),
            "{:?}",
            shape.differs
        );
    }

    #[test]
    fn nodes_with_holes_are_renumbered_with_a_word() {
        let mut machine = machine_like(&catalogue::find("two-node-smt").unwrap().unwrap());
        machine.nodes[1].id = 8;
        machine.nodes[0].distances = BTreeMap::from([(0, 10), (8, 40)]);
        machine.nodes[1].distances = BTreeMap::from([(0, 40), (8, 10)]);
        for cpu in machine.cpus.iter_mut().filter(|cpu| cpu.node == Some(1)) {
            cpu.node = Some(8);
        }
        let shape = Shape::of(&machine).unwrap();
        assert_eq!(shape.nodes[1].distances, BTreeMap::from([(0, 40), (1, 10)]));
        assert!(shape.differs[0].contains("node 8 is node 1"));
    }

    #[test]
    fn a_machine_of_which_nothing_is_known_has_no_shape() {
        assert!(Shape::of(&Machine::default()).is_err());
    }
}
