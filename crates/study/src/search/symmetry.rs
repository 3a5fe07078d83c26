//! The symmetry of a machine: which renumberings of its CPUs change nothing that is known to matter.
//!
//! Two CPU sets that such a renumbering turns into each other are one placement, and need one trial. What is not known
//! is taken to make no difference; what is known and uneven (a network card's node, interrupts on a CPU, kinds of
//! cores, cache sizes, distances) makes one.

use std::collections::BTreeMap;

use machine::devices::{Device, DeviceKind};
use machine::topology::caches::{Cache, CacheType};
use machine::wording::counted;
use machine::{Class, CpuSet, Fault, Machine};

use super::node_symmetry::{Group, Parts};
use super::tree::{Level, Plan, Tree};
use super::value_classes;

/// Measured latencies of memory that differ by no more than this factor from the next count as the same.
const SAME_LATENCY: f64 = 1.1;
/// Nodes whose memory differs by no more than this factor from the next have the same.
const SAME_MEMORY: f64 = 1.25;

/// Which CPUs may be exchanged.
#[derive(Debug, Clone)]
pub struct Symmetry {
    pub(crate) tree: Tree,
    pub(crate) group: Option<Group>,
    pub(crate) nodes: Vec<NodeAt>,
    choosable: CpuSet,
    /// What distinguishes CPUs and groups of CPUs from others like them, in words.
    pub differences: Vec<String>,
    /// What made the symmetry smaller than it may be.
    pub notes: Vec<String>,
}

/// A NUMA node with CPUs, and how far the nodes are.
#[derive(Debug, Clone)]
pub(crate) struct NodeAt {
    pub id: u32,
    pub cpus: CpuSet,
    /// Distance to each node with CPUs, in order of `nodes`; 10 is here.
    pub distances: Vec<f64>,
}

impl Symmetry {
    /// The symmetry of `machine` for what may run on its usable CPUs. `interrupts_per_s` is the measured rate by CPU;
    /// without it the counts since boot decide.
    ///
    /// Fails when the machine has no CPU that may be used.
    pub fn of(machine: &Machine, interrupts_per_s: Option<&BTreeMap<u32, f64>>) -> Result<Self, Fault> {
        Self::distinguished(machine, interrupts_per_s, machine.usable(), &BTreeMap::new())
    }

    /// As [`of`](Self::of), for what may run on `choosable` alone, where the CPUs of `apart` differ from others by what is known of
    /// each in words.
    pub fn distinguished(
        machine: &Machine,
        interrupts_per_s: Option<&BTreeMap<u32, f64>>,
        choosable: CpuSet,
        apart: &BTreeMap<u32, String>,
    ) -> Result<Self, Fault> {
        if choosable.is_empty() {
            return Err(Fault::new(
                Class::MachineLacks,
                "CPUs of the machine",
                "no CPU is known to be online and allowed",
                "map the machine again where /sys can be read, or widen the affinity of this shell",
            ));
        }
        let mut groups = groups(machine);
        groups.extend(nodes(machine));
        let mut marks = marks(machine, interrupts_per_s);
        for (cpu, words) in apart {
            marks.entry(*cpu).and_modify(|mark| *mark = format!("{mark}, {words}")).or_insert(words.clone());
        }
        let mut differences: Vec<String> =
            marks.iter().map(|(cpu, mark)| format!("CPU {cpu}: {mark}")).collect();
        let coloured = groups.iter().filter(|(.., colour)| !colour.is_empty());
        let coloured =
            coloured.map(|(level, cpus, colour)| format!("{} of CPUs {cpus}: {colour}", word(*level)));
        differences.extend(coloured);
        let tree = Tree::build(Plan { cpus: machine.online(), choosable: choosable.clone(), groups, marks });
        let crossing = tree.crossing.iter();
        let mut notes: Vec<String> = crossing
            .map(|set| format!("CPUs {set} share something across other groups: they count as different"))
            .collect();
        let group = parts(machine, &tree).group(&tree);
        if group.as_ref().is_some_and(|group| group.cut_short) {
            notes.push(
                "the nodes may be exchanged in more ways than are listed: each counts as different".into(),
            );
        }
        Ok(Self { tree, group, nodes: nodes_at(machine), choosable, differences, notes })
    }

    /// The CPUs that may be chosen.
    pub fn choosable(&self) -> &CpuSet {
        &self.choosable
    }
}

pub(crate) fn word(level: Level) -> &'static str {
    match level {
        Level::Machine => "machine",
        Level::Package => "package",
        Level::Node => "node",
        Level::Die => "die",
        Level::Cluster => "cluster",
        Level::Cache => "shared cache",
        Level::LastCache => "last-level cache",
        Level::Core => "core",
        Level::Thread => "CPU",
    }
}

/// Packages, dies, clusters, shared caches and cores. Caches of different sizes are different.
fn groups(machine: &Machine) -> Vec<(Level, CpuSet, String)> {
    let plain = |level: Level| move |cpus: CpuSet| (level, cpus, String::new());
    let mut groups: Vec<_> = machine.packages.iter().cloned().map(plain(Level::Package)).collect();
    groups.extend(machine.cores().into_iter().map(plain(Level::Core)));
    let mut numbered: BTreeMap<(Level, Option<u32>, Option<u32>, u32), CpuSet> = BTreeMap::new();
    for cpu in machine.cpus.iter().filter(|cpu| cpu.online) {
        let die = cpu.die.map(|die| (Level::Die, cpu.package, None, die));
        let cluster = cpu.cluster.map(|cluster| (Level::Cluster, cpu.package, cpu.die, cluster));
        for key in [die, cluster].into_iter().flatten() {
            numbered.entry(key).or_default().insert(cpu.id);
        }
    }
    groups.extend(numbered.into_iter().map(|((level, ..), cpus)| (level, cpus, String::new())));
    let last_levels = machine.caches.iter().filter(|cache| cache.kind != CacheType::Instruction);
    groups.extend(last_levels.filter(|cache| cache.level > 1).map(|cache| shared_cache(machine, cache)));
    groups
}

fn shared_cache(machine: &Machine, cache: &Cache) -> (Level, CpuSet, String) {
    let first = cache.cpus.first().and_then(|cpu| machine.last_level_cache(cpu));
    let level = if first == Some(cache) { Level::LastCache } else { Level::Cache };
    let alike = machine.caches.iter().filter(|other| other.level == cache.level && other.kind == cache.kind);
    let uneven = alike.clone().any(|other| other.bytes != cache.bytes);
    let colour = match (uneven, cache.bytes) {
        (true, Some(bytes)) => format!("L{} of {} KiB", cache.level, bytes / 1024),
        _ => String::new(),
    };
    (level, cache.cpus.clone(), colour)
}

/// Nodes with CPUs, and what hangs on them.
fn nodes(machine: &Machine) -> Vec<(Level, CpuSet, String)> {
    let with_cpus = machine.nodes.iter().filter(|node| !node.cpus.is_empty());
    let memory = memory_classes(machine);
    let uneven = memory.values().any(|class| *class > 0);
    with_cpus
        .map(|node| {
            let mut colours = devices_of(machine, node.id);
            if let Some(class) = memory.get(&node.id).filter(|_| uneven) {
                colours.push(format!("memory size {class}"));
            }
            (Level::Node, node.cpus.clone(), colours.join(", "))
        })
        .collect()
}

/// Devices of a node as they matter: a network card that is up by name, others by number.
fn devices_of(machine: &Machine, node: u32) -> Vec<String> {
    let here = |device: &&Device| device.node == Some(node) && !device.is_virtual;
    let is_up = |device: &Device| device.kind == DeviceKind::Net && device.state.as_deref() != Some("down");
    let mut words: Vec<String> = Vec::new();
    let mut others: BTreeMap<String, usize> = BTreeMap::new();
    for device in machine.devices.iter().filter(here) {
        match is_up(device) {
            true => words.push(format!("network card {}", device.name)),
            false => *others.entry(format!("{:?}", device.kind).to_lowercase()).or_default() += 1,
        }
    }
    words.extend(others.into_iter().map(|(kind, count)| counted(count, &format!("{kind} device"))));
    words
}

/// What distinguishes a CPU from others like it.
fn marks(machine: &Machine, interrupts_per_s: Option<&BTreeMap<u32, f64>>) -> BTreeMap<u32, String> {
    let mut marks: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    let mut mark = |cpu: u32, words: String| marks.entry(cpu).or_default().push(words);
    let online: Vec<u32> = machine.online().iter().collect();
    let counts: Vec<f64> = match interrupts_per_s {
        Some(rates) => online.iter().map(|cpu| rates.get(cpu).copied().unwrap_or(0.0)).collect(),
        None => online.iter().map(|cpu| since_boot(machine, *cpu)).collect(),
    };
    for (cpu, class) in online.iter().zip(value_classes::load_classes(&counts, interrupts_per_s.is_some())) {
        if class > 0 {
            mark(*cpu, format!("serves {}-{} times its share of interrupts", 1u64 << class, 2u64 << class));
        }
    }
    for kind in machine.core_kinds.iter() {
        kind.cpus.iter().for_each(|cpu| mark(cpu, kind.name.clone()));
    }
    let isolated = machine.isolated();
    let lists = [("isolated", &isolated), ("nohz_full", &machine.kernel.nohz_full)];
    for (words, cpus) in lists {
        cpus.iter().flat_map(|cpus| cpus.iter()).for_each(|cpu| mark(cpu, words.into()));
    }
    let usable = machine.usable();
    online.iter().filter(|cpu| !usable.contains(**cpu)).for_each(|cpu| mark(*cpu, "not allowed".into()));
    marks.into_iter().map(|(cpu, words)| (cpu, words.join(", "))).collect()
}

fn since_boot(machine: &Machine, cpu: u32) -> f64 {
    let of = |irq: &machine::irqs::Irq| irq.counts.as_ref().and_then(|counts| counts.get(&cpu).copied());
    machine.irqs.iter().filter_map(of).fold(0, u64::saturating_add) as f64
}

fn memory_classes(machine: &Machine) -> BTreeMap<u32, usize> {
    let known: Vec<(u32, f64)> =
        machine.nodes.iter().filter_map(|node| Some((node.id, node.memory_bytes? as f64))).collect();
    let bytes: Vec<f64> = known.iter().map(|(_, bytes)| *bytes).collect();
    known.iter().map(|(id, _)| *id).zip(value_classes::classes(&bytes, SAME_MEMORY)).collect()
}

/// What the distances are between: nodes with CPUs, groups of CPUs without a node, then nodes of memory alone.
fn parts(machine: &Machine, tree: &Tree) -> Parts {
    let place = |cpus: &CpuSet| tree.vertices.iter().position(|vertex| &vertex.cpus == cpus);
    let (with_cpus, memory_only): (Vec<_>, Vec<_>) =
        machine.nodes.iter().partition(|node| !node.cpus.is_empty());
    // A node that is no vertex crosses something: its CPUs are distinguished one by one.
    let mut found: Vec<(Option<usize>, Option<u32>)> = with_cpus
        .iter()
        .filter_map(|node| place(&node.cpus).map(|vertex| (Some(vertex), Some(node.id))))
        .collect();
    let covered: CpuSet =
        found.iter().filter_map(|(v, _)| *v).flat_map(|v| tree.vertices[v].cpus.iter()).collect();
    let rest = tree.vertices.iter().enumerate().filter(|(_, v)| v.children.is_empty());
    let rest = rest.filter(|(_, v)| v.cpus.intersection(&covered).is_empty());
    found.extend(rest.map(|(at, _)| (Some(at), None)));
    found.sort_by_key(|(vertex, _)| vertex.and_then(|v| tree.vertices[v].cpus.first()));
    found.extend(memory_only.iter().map(|node| (None, Some(node.id))));
    let memory = memory_classes(machine);
    let likes = found.iter().map(|(vertex, id)| match vertex {
        Some(vertex) => tree.vertices[*vertex].kind,
        None => tree.kinds.len() + id.and_then(|id| memory.get(&id)).copied().unwrap_or_default(),
    });
    let labels = labels(machine);
    let ids: Vec<Option<u32>> = found.iter().map(|(_, id)| *id).collect();
    let label = |a: &Option<u32>, b: &Option<u32>| match (a, b) {
        (Some(a), Some(b)) => labels.get(&(*a, *b)).copied().unwrap_or(0),
        _ => 0,
    };
    Parts {
        likes: likes.collect(),
        far: ids.iter().map(|a| ids.iter().map(|b| label(a, b)).collect()).collect(),
        vertices: found.into_iter().map(|(vertex, _)| vertex).collect(),
    }
}

/// A label for each pair of nodes: the same where firmware and measurement both say the same.
fn labels(machine: &Machine) -> BTreeMap<(u32, u32), usize> {
    let measured = measured_classes(machine);
    let mut numbers: BTreeMap<(Option<u32>, Option<usize>), usize> = BTreeMap::new();
    let mut labels = BTreeMap::new();
    for from in &machine.nodes {
        for to in &machine.nodes {
            let reported = from.distances.get(&to.id).copied();
            let key = (reported, measured.get(&(from.id, to.id)).copied());
            let next = numbers.len() + 1;
            labels.insert((from.id, to.id), *numbers.entry(key).or_insert(next));
        }
    }
    labels
}

fn measured_classes(machine: &Machine) -> BTreeMap<(u32, u32), usize> {
    let cells = machine.measured_distances.as_ref().and_then(|d| d.memory.as_ref()).map(|m| &m.cells);
    let known: Vec<_> = cells
        .into_iter()
        .flatten()
        .filter_map(|cell| Some(((cell.from, cell.memory), cell.latency_ns?.median)))
        .collect();
    let medians: Vec<f64> = known.iter().map(|(_, ns)| *ns).collect();
    known.iter().map(|(pair, _)| *pair).zip(value_classes::classes(&medians, SAME_LATENCY)).collect()
}

fn nodes_at(machine: &Machine) -> Vec<NodeAt> {
    let with_cpus: Vec<_> = machine.nodes.iter().filter(|node| !node.cpus.is_empty()).collect();
    let far = |from: &machine::topology::nodes::Node, to: u32| {
        f64::from(from.distances.get(&to).copied().unwrap_or(if from.id == to { 10 } else { 20 }))
    };
    with_cpus
        .iter()
        .map(|node| NodeAt {
            id: node.id,
            cpus: node.cpus.clone(),
            distances: with_cpus.iter().map(|to| far(node, to.id)).collect(),
        })
        .collect()
}
