//! Groups within groups: packages, dies, nodes, clusters and shared caches, by the CPUs that they have.
//!
//! Nothing is taken for granted about which kind contains which: it differs between machines (several nodes in a
//! package, several packages in a node). The larger set contains the smaller; sets that overlap without one
//! containing the other (wrong firmware tables) cannot be drawn as frames, and a note says so.

use std::collections::BTreeMap;

use machine::topology::nodes::Node;
use machine::{CpuSet, FactId, Machine};

use super::caches::{self, Caches};
use super::{Group, Strip, StripKind};
use crate::map::machine_text::cpus as cpu_words;
use crate::map::machine_text::size;

/// The machine, group 0.
pub(super) const MACHINE: usize = 0;

/// The groups while they are filled.
#[derive(Debug, Default)]
pub(super) struct Nest {
    pub(super) groups: Vec<Group>,
    /// The innermost group of each online CPU.
    innermost: BTreeMap<u32, usize>,
    /// The group of each node.
    nodes: BTreeMap<u32, usize>,
    /// What could not be drawn.
    pub(super) notes: Vec<String>,
}

/// A set of CPUs that wants to be a group.
struct Candidate {
    cpus: CpuSet,
    strip: Strip,
    node: Option<u32>,
}

impl Nest {
    /// Nests everything that has CPUs; nodes without CPUs stand right in the machine.
    pub(super) fn of(machine: &Machine, caches: &Caches) -> Self {
        let online = machine.online();
        let innermost = online.iter().map(|cpu| (cpu, MACHINE)).collect();
        let groups = vec![Group { cpus: online, ..Group::default() }];
        let mut nest = Self { groups, innermost, ..Self::default() };
        let mut candidates = candidates(machine, caches);
        candidates.iter_mut().for_each(|c| c.cpus = c.cpus.iter().filter(|cpu| nest.has(*cpu)).collect());
        candidates.sort_by(|a, b| {
            let larger_first = b.cpus.len().cmp(&a.cpus.len());
            larger_first.then_with(|| (a.strip.kind, a.cpus.first()).cmp(&(b.strip.kind, b.cpus.first())))
        });
        candidates.into_iter().for_each(|candidate| nest.take(candidate));
        for node in machine.nodes.iter().filter(|node| is_apart(machine, node)) {
            nest.stand_apart(machine, node);
        }
        nest
    }

    /// The innermost group of a CPU that is online.
    pub(super) fn around(&self, cpu: u32) -> usize {
        self.innermost.get(&cpu).copied().unwrap_or(MACHINE)
    }

    /// Whether a CPU is online: tables of a machine that changed while it was read may name others.
    pub(super) fn has(&self, cpu: u32) -> bool {
        self.innermost.contains_key(&cpu)
    }

    /// The group of a node.
    pub(super) fn of_node(&self, node: u32) -> Option<usize> {
        self.nodes.get(&node).copied()
    }

    /// A new group within another.
    pub(super) fn add(&mut self, parent: usize, group: Group) -> usize {
        let index = self.groups.len();
        self.groups.push(group);
        self.groups[parent].inner.push(index);
        index
    }

    /// Puts the groups within each in order: by number where they are of a kind that has numbers, else by CPU.
    pub(super) fn order(&mut self) {
        let key = |group: &Group| {
            let strip = group.strips.first();
            (strip.map(|strip| strip.kind), strip.and_then(|strip| strip.number), group.cpus.first())
        };
        let keys: Vec<_> = self.groups.iter().map(key).collect();
        self.groups.iter_mut().for_each(|group| group.inner.sort_by_key(|inner| keys[*inner]));
    }

    /// Makes a group of it, or a further strip of the group that has the same CPUs. Those before it were no smaller,
    /// so it fits if one group is the innermost of all its CPUs.
    fn take(&mut self, candidate: Candidate) {
        let Some(first) = candidate.cpus.first() else { return };
        let parent = self.around(first);
        if candidate.cpus.iter().any(|cpu| self.innermost.get(&cpu) != Some(&parent)) {
            let strip = &candidate.strip;
            let who = format!("{} of {}", strip.words(), cpu_words(&candidate.cpus));
            self.notes.push(format!("{who} is not drawn: it overlaps with others without being within one"));
            return;
        }
        let same = parent != MACHINE && self.groups[parent].cpus.len() == candidate.cpus.len();
        let index = if same { parent } else { self.add(parent, Group::default()) };
        if !same {
            self.innermost.extend(candidate.cpus.iter().map(|cpu| (cpu, index)));
            self.groups[index].cpus = candidate.cpus;
        }
        if let Some(node) = candidate.node {
            self.nodes.insert(node, index);
        }
        self.add_strip(index, candidate.strip);
    }

    /// Caches of the same CPUs share a strip: `L2 2 MiB, L1i 64 KiB`.
    fn add_strip(&mut self, index: usize, strip: Strip) {
        let strips = &mut self.groups[index].strips;
        match strips.last_mut() {
            Some(last) if last.kind == StripKind::Cache && strip.kind == StripKind::Cache => {
                last.figure = format!("{}, {}", last.figure, strip.words());
            }
            // A die that is a node needs no line of its own.
            Some(last) if last.kind == StripKind::Node && strip.kind == StripKind::Die => {
                last.figure = format!("{}, {}", last.figure, strip.name);
            }
            // One list of CPUs for each group is enough.
            Some(_) => strips.push(Strip { detail: String::new(), ..strip }),
            None => strips.push(strip),
        }
    }

    fn stand_apart(&mut self, machine: &Machine, node: &Node) {
        let (name, detail) = (format!("node {}", node.id), why_apart(machine, node));
        let strip =
            Strip { kind: StripKind::Node, number: Some(node.id), name, figure: memory(node), detail };
        let index = self.add(MACHINE, Group { strips: vec![strip], ..Group::default() });
        self.nodes.insert(node.id, index);
    }
}

/// All sets that may become groups.
fn candidates(machine: &Machine, caches: &Caches) -> Vec<Candidate> {
    let mut all: Vec<Candidate> = Vec::new();
    for package in &machine.packages {
        let id = package.first().and_then(|cpu| machine.cpu(cpu)?.package);
        let name = id.map_or("package".to_string(), |id| format!("package {id}"));
        all.push(candidate((StripKind::Package, id), name, String::new(), package.clone()));
    }
    for node in machine.nodes.iter().filter(|node| !is_apart(machine, node)) {
        let strip = candidate(
            (StripKind::Node, Some(node.id)),
            format!("node {}", node.id),
            memory(node),
            node.cpus.clone(),
        );
        all.push(Candidate { node: Some(node.id), ..strip });
    }
    let dies = parts(machine, |cpu| cpu.die, |cpu| (cpu.package, None));
    all.extend(named(StripKind::Die, "die", dies));
    let clusters = parts(machine, |cpu| cpu.cluster, |cpu| (cpu.package, cpu.die));
    // A cluster that only says who shares a cache says nothing more than the cache; one core is no cluster.
    let clusters = clusters.into_iter().filter(|(_, cpus)| {
        let is_core = cpus.first().and_then(|cpu| machine.cpu(cpu)?.siblings.as_ref()) == Some(cpus);
        !is_core && cpus.len() > 1 && !caches.shared.iter().any(|cache| &cache.cpus == cpus)
    });
    all.extend(named(StripKind::Cluster, "cluster", clusters.collect()));
    // Higher levels first: of caches that the same CPUs share, the farther one is named first.
    for cache in caches.shared.iter().rev() {
        all.push(candidate(
            (StripKind::Cache, None),
            caches::name(cache),
            caches::figure(cache),
            cache.cpus.clone(),
        ));
    }
    all
}

fn candidate(
    (kind, number): (StripKind, Option<u32>),
    name: String,
    figure: String,
    cpus: CpuSet,
) -> Candidate {
    let detail = cpu_words(&cpus);
    Candidate { cpus, strip: Strip { kind, number, name, figure, detail }, node: None }
}

fn named(kind: StripKind, noun: &str, parts: Vec<(u32, CpuSet)>) -> Vec<Candidate> {
    parts
        .into_iter()
        .map(|(id, cpus)| candidate((kind, Some(id)), format!("{noun} {id}"), String::new(), cpus))
        .collect()
}

type Above = (Option<u32>, Option<u32>);

/// CPUs by the number that `part` gives within what is `above`, where some of these have more than one part.
fn parts(
    machine: &Machine,
    part: impl Fn(&machine::topology::cpus::Cpu) -> Option<u32>,
    above: impl Fn(&machine::topology::cpus::Cpu) -> Above,
) -> Vec<(u32, CpuSet)> {
    let mut sets: BTreeMap<(Above, u32), CpuSet> = BTreeMap::new();
    for cpu in machine.cpus.iter().filter(|cpu| cpu.online) {
        if let Some(id) = part(cpu) {
            sets.entry((above(cpu), id)).or_default().insert(cpu.id);
        }
    }
    let wholes: std::collections::BTreeSet<&Above> = sets.keys().map(|(above, _)| above).collect();
    let says_something = sets.len() > wholes.len();
    sets.into_iter().filter(|_| says_something).map(|((_, id), cpus)| (id, cpus)).collect()
}

/// Size, the cache in front of it and how fast it is, as far as they are reported.
fn memory(node: &Node) -> String {
    let total = match node.memory_bytes {
        None => "memory not known".into(),
        Some(0) => "no memory".into(),
        Some(bytes) => size(bytes),
    };
    let front = node.side_caches.iter().filter_map(|cache| cache.bytes);
    let fastest = node.access.first();
    let figures = [
        fastest.and_then(|access| access.read_bandwidth_mb_per_s).map(|mb| format!("{mb} MB/s")),
        fastest.and_then(|access| access.read_latency_ns).map(|ns| format!("{ns} ns")),
    ];
    let more = front.map(|bytes| format!("behind a cache of {}", size(bytes)));
    std::iter::once(total).chain(more).chain(figures.into_iter().flatten()).collect::<Vec<_>>().join(", ")
}

/// Nodes without CPUs, and those that claim the same CPUs as another: nothing can be said to be in them.
fn is_apart(machine: &Machine, node: &Node) -> bool {
    node.cpus.is_empty() || is_contested(machine, node)
}

fn is_contested(machine: &Machine, node: &Node) -> bool {
    let others = machine.nodes.iter().filter(|other| other.id != node.id);
    others.into_iter().any(|other| !other.cpus.intersection(&node.cpus).is_empty())
}

fn why_apart(machine: &Machine, node: &Node) -> String {
    if !node.cpus.is_empty() {
        return format!("claims {}, as others do", cpu_words(&node.cpus));
    }
    if machine.missing.iter().any(|missing| missing.is(&FactId::CpusOfNode(node.id))) {
        return "CPUs not known".into();
    }
    let with_cpus: CpuSet = machine.nodes.iter().filter(|n| !n.cpus.is_empty()).map(|n| n.id).collect();
    let reachable = || node.distances.iter().filter(|(id, _)| with_cpus.contains(**id));
    let Some(least) = reachable().map(|(_, distance)| *distance).min() else { return "no CPUs".into() };
    let nearest: CpuSet =
        reachable().filter(|(_, distance)| **distance == least).map(|(id, _)| *id).collect();
    match nearest.len() {
        // That it is as near to all nodes says nothing.
        n if n == with_cpus.len() && n > 1 => "no CPUs".into(),
        1 => format!("no CPUs; nearest node {nearest} ({least})"),
        _ => format!("no CPUs; nearest nodes {nearest} ({least})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use machine::topology::caches::{Cache, CacheType};
    use machine::topology::cpus::Cpu;

    fn set(list: &str) -> CpuSet {
        CpuSet::from_list(list).unwrap()
    }

    fn node(id: u32, cpus: &str, distances: &[(u32, u32)]) -> Node {
        let distances = distances.iter().copied().collect();
        Node { id, cpus: set(cpus), memory_bytes: Some(8 << 30), distances, ..Node::default() }
    }

    fn machine() -> Machine {
        let cpu = |id| Cpu { id, online: true, package: Some(id / 4), ..Cpu::default() };
        let l2 = |list| Cache { level: 2, kind: CacheType::Unified, bytes: Some(1 << 20), cpus: set(list) };
        Machine {
            cpus: (0..8).map(cpu).collect(),
            packages: vec![set("0-3"), set("4-7")],
            nodes: vec![node(0, "0-3", &[]), node(1, "4-7", &[])],
            caches: vec![l2("0-1"), l2("2-3"), l2("3-4")],
            ..Machine::default()
        }
    }

    fn nest(machine: &Machine) -> Nest {
        Nest::of(machine, &Caches::of(machine))
    }

    #[test]
    fn equal_sets_are_one_group_and_crossing_ones_are_told() {
        let nest = nest(&machine());
        let names: Vec<Vec<&str>> = nest
            .groups
            .iter()
            .map(|group| group.strips.iter().map(|strip| strip.name.as_str()).collect())
            .collect();
        assert_eq!(
            names,
            [vec![], vec!["package 0", "node 0"], vec!["package 1", "node 1"], vec!["L2"], vec!["L2"]]
        );
        assert_eq!(nest.groups[MACHINE].inner, [1, 2]);
        assert_eq!(nest.groups[1].inner, [3, 4]);
        let note = "L2 1 MiB of CPUs 3-4 is not drawn: it overlaps with others without being within one";
        assert_eq!(nest.notes, [note]);
        assert_eq!((nest.around(2), nest.around(7), nest.of_node(1)), (4, 2, Some(2)));
    }

    #[test]
    fn nodes_without_cpus_stand_apart_and_say_which_is_nearest() {
        let mut machine = machine();
        machine.nodes.push(node(2, "", &[(0, 17), (1, 28), (2, 10)]));
        machine.nodes.push(node(3, "", &[(0, 20), (1, 20), (3, 10)]));
        let nest = nest(&machine);
        let detail = |id: u32| nest.groups[nest.of_node(id).unwrap()].strips[0].detail.as_str();
        assert_eq!((detail(2), detail(3)), ("no CPUs; nearest node 0 (17)", "no CPUs"));
    }

    #[test]
    fn nodes_that_claim_the_same_cpus_hold_nothing() {
        let mut machine = machine();
        machine.nodes[1].cpus = set("0-7");
        let nest = nest(&machine);
        let strips = &nest.groups[nest.of_node(1).unwrap()].strips;
        assert_eq!(strips[0].detail, "claims CPUs 0-7, as others do");
        assert_eq!(nest.groups[1].strips.len(), 1, "package 0 alone");
    }
}
