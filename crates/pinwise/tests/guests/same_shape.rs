//! Whether a machine has the requested shape, and in what it differs.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use machine::{CpuSet, Machine};
use rehearse::Shape;
use rehearse::shape::DiskKind;

/// Fails with every difference.
pub fn assert_same(name: &str, machine: &Machine, asked: &Shape) {
    let reported = Shape::of(machine).unwrap_or_else(|why| panic!("{name}: {why}"));
    let mut differences = Vec::new();
    let sides = [(&reported, machine.online()), (asked, asked.present().difference(&asked.offline))];
    let [told_face, asked_face] = sides.map(|(shape, online)| Face::of(shape, &online));
    told_face.compare(&asked_face, &mut differences);
    compare(&mut differences, "possible CPUs", &machine.possible, &Some(asked.possible()));
    compare(&mut differences, "present CPUs", &machine.present, &Some(asked.present()));
    compare(&mut differences, "packages", &reported_packages(machine), &asked_face.packages);
    memory(&mut differences, machine, asked);
    assert!(differences.is_empty(), "{name} is not as asked:\n  {}", differences.join("\n  "));
}

/// What can be compared of a shape: where CPUs are not online, their places are not reported and so not held.
struct Face {
    online: CpuSet,
    cores: BTreeSet<CpuSet>,
    packages: BTreeSet<CpuSet>,
    nodes: BTreeMap<u32, u32>,
    distances: BTreeMap<(u32, u32), u32>,
    nics: Vec<(Option<u32>, u32)>,
    disks: Vec<(Option<u32>, DiskKind)>,
    idle_states: Vec<u16>,
}

impl Face {
    fn of(shape: &Shape, online: &CpuSet) -> Self {
        let there =
            |cpus: &[u32]| cpus.iter().copied().filter(|cpu| online.contains(*cpu)).collect::<CpuSet>();
        let mut packages: BTreeMap<u32, CpuSet> = BTreeMap::new();
        let mut nodes = BTreeMap::new();
        for core in &shape.cores {
            let cpus = there(&core.cpus);
            // Linux has one node where the firmware reports none.
            nodes.extend(cpus.iter().map(|cpu| (cpu, core.node.unwrap_or(0))));
            let package = packages.entry(core.package).or_default();
            *package = package.union(&cpus);
        }
        let pairs = |node: &rehearse::shape::Node| {
            let from = node.id;
            node.distances.iter().map(move |(to, distance)| ((from, *to), *distance)).collect::<Vec<_>>()
        };
        let mut distances: BTreeMap<(u32, u32), u32> = shape.nodes.iter().flat_map(pairs).collect();
        if distances.is_empty() {
            distances.insert((0, 0), 10);
        }
        Self {
            online: online.clone(),
            cores: shape.cores.iter().map(|core| there(&core.cpus)).filter(|core| !core.is_empty()).collect(),
            packages: packages.into_values().filter(|package| !package.is_empty()).collect(),
            nodes,
            distances,
            nics: shape.nics.iter().map(|nic| (nic.node, nic.queues)).collect(),
            disks: shape.disks.iter().map(|disk| (disk.node, disk.kind)).collect(),
            idle_states: shape.idle_states.iter().map(|state| state.exit_latency_us).collect(),
        }
    }

    fn compare(&self, asked: &Self, differences: &mut Vec<String>) {
        compare(differences, "online CPUs", &self.online, &asked.online);
        compare(differences, "cores", &self.cores, &asked.cores);
        compare(differences, "packages of the shape", &self.packages, &asked.packages);
        compare(differences, "node of each CPU", &self.nodes, &asked.nodes);
        compare(differences, "distances", &self.distances, &asked.distances);
        compare(differences, "cards (node, queues)", &self.nics, &asked.nics);
        compare(differences, "disks (node, kind)", &self.disks, &asked.disks);
        compare(differences, "idle states (exit latency, us)", &self.idle_states, &asked.idle_states);
    }
}

fn reported_packages(machine: &Machine) -> BTreeSet<CpuSet> {
    machine.packages.iter().cloned().collect()
}

/// A node has memory where it was requested, and what the kernel manages is no more than what was plugged.
fn memory(differences: &mut Vec<String>, machine: &Machine, asked: &Shape) {
    for node in &asked.nodes {
        let reported = machine
            .nodes
            .iter()
            .find(|reported| reported.id == node.id)
            .and_then(|reported| reported.memory_bytes);
        let fits = |bytes: u64| (bytes > 0) == (node.memory_mb > 0) && bytes <= node.memory_mb << 20;
        if !reported.is_some_and(fits) {
            differences
                .push(format!("memory of node {}: {reported:?} bytes, asked {} MB", node.id, node.memory_mb));
        }
    }
}

fn compare<T: PartialEq + Debug>(differences: &mut Vec<String>, what: &str, reported: &T, asked: &T) {
    if reported != asked {
        differences.push(format!("{what}: {reported:?}, asked {asked:?}"));
    }
}
