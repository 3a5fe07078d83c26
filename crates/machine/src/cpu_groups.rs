//! Groups of CPUs that share something, and their names: `node:1`, `l3:0`, `kind:performance`, `smt:0`. Pure.
//!
//! Nodes have the kernel's numbers (`/sys/devices/system/node/nodeN`). Groups of every other kind are numbered from 0 on in the order of
//! their smallest CPU, since what the kernel calls them is not unique (`core_id`, `die_id`), has holes, or is not there at all. Kinds of
//! cores stand in the order of [`Machine::core_kinds`], threads (`smt`) in their order within the core.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use crate::topology::caches::CacheType;
use crate::topology::kinds::CoreKind;
use crate::{CpuSet, FactId, Machine};

/// Most names that a message lists.
const MOST_NAMED: usize = 8;

/// What the CPUs of a group share.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum GroupKind {
    /// A package (socket).
    Package,
    /// A NUMA node, by the kernel's number.
    Node,
    /// A die within a package (`topology/die_id`).
    Die,
    /// A cluster of cores (`topology/cluster_id`): often a level-2 cache, or the tags of a level-3 one.
    Cluster,
    /// The last-level cache, whatever its level.
    Llc,
    /// A cache of level 3.
    L3,
    /// A cache of level 2.
    L2,
    /// A kind of core, on machines that have several.
    Kind,
    /// A core.
    Core,
    /// The threads of this position in their cores: `smt:0` is the first online thread of each core.
    Smt,
}

impl GroupKind {
    /// All kinds, the larger groups first.
    pub const ALL: [Self; 10] = [
        Self::Package,
        Self::Node,
        Self::Die,
        Self::Cluster,
        Self::Llc,
        Self::L3,
        Self::L2,
        Self::Kind,
        Self::Core,
        Self::Smt,
    ];

    /// The word before the colon.
    pub fn word(self) -> &'static str {
        match self {
            Self::Package => "package",
            Self::Node => "node",
            Self::Die => "die",
            Self::Cluster => "cluster",
            Self::Llc => "llc",
            Self::L3 => "l3",
            Self::L2 => "l2",
            Self::Kind => "kind",
            Self::Core => "core",
            Self::Smt => "smt",
        }
    }

    /// The kind of this word.
    pub fn of_word(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.word() == word)
    }
}

impl fmt::Display for GroupKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Online CPUs that share something, by name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CpuGroup {
    /// Its name, `l3:0`, as every option and recipe that takes CPUs reads it.
    pub name: String,
    /// Other names of it: `kind:performance`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
    /// What its CPUs share.
    pub kind: GroupKind,
    /// Its number.
    pub number: u32,
    /// Its CPUs, including those that this process may not use; none for a node that has only memory.
    pub cpus: CpuSet,
}

impl CpuGroup {
    fn new(kind: GroupKind, number: u32, cpus: CpuSet) -> Self {
        Self { name: format!("{kind}:{number}"), also: Vec::new(), kind, number, cpus }
    }

    /// Whether `word` stands behind the colon in one of its other names.
    pub(crate) fn is_called(&self, word: &str) -> bool {
        self.also.iter().any(|name| name.split_once(':').is_some_and(|(_, own)| own == word))
    }
}

/// The groups of every kind that a machine has.
pub fn all(machine: &Machine) -> Vec<CpuGroup> {
    GroupKind::ALL.into_iter().flat_map(|kind| of_kind(kind, machine)).collect()
}

/// The groups of one kind, by number; none where the machine has none, or they are not known.
pub fn of_kind(kind: GroupKind, machine: &Machine) -> Vec<CpuGroup> {
    let online = machine.online();
    let sets: Vec<(u32, CpuSet)> = match kind {
        GroupKind::Node => {
            machine.nodes.iter().map(|node| (node.id, node.cpus.intersection(&online))).collect()
        }
        GroupKind::Package => counted(machine.packages.clone(), &online),
        GroupKind::Die => counted(parts_of_packages(machine, |cpu| cpu.die), &online),
        GroupKind::Cluster => counted(parts_of_packages(machine, |cpu| cpu.cluster), &online),
        GroupKind::Llc => counted(last_level_caches(machine), &online),
        GroupKind::L3 => counted(caches(machine, 3), &online),
        GroupKind::L2 => counted(caches(machine, 2), &online),
        GroupKind::Kind => return kinds(machine, &online),
        GroupKind::Core => counted(machine.cores(), &online),
        GroupKind::Smt => threads(machine, &online),
    };
    sets.into_iter().map(|(number, cpus)| CpuGroup::new(kind, number, cpus)).collect()
}

/// The online CPUs of each set once, numbered in the order of its smallest CPU.
fn counted(sets: Vec<CpuSet>, online: &CpuSet) -> Vec<(u32, CpuSet)> {
    let distinct: BTreeSet<CpuSet> =
        sets.iter().map(|set| set.intersection(online)).filter(|set| !set.is_empty()).collect();
    (0..).zip(distinct).collect()
}

/// The CPUs of the same package that have the same number there; those whose package or number is not known are in none.
fn parts_of_packages(
    machine: &Machine,
    number: fn(&crate::topology::cpus::Cpu) -> Option<u32>,
) -> Vec<CpuSet> {
    let packages = (0u32..).zip(&machine.packages);
    let package_of: BTreeMap<u32, u32> =
        packages.flat_map(|(package, cpus)| cpus.iter().map(move |cpu| (cpu, package))).collect();
    let mut parts: BTreeMap<(u32, u32), CpuSet> = BTreeMap::new();
    for cpu in &machine.cpus {
        if let (Some(package), Some(number)) = (package_of.get(&cpu.id), number(cpu)) {
            parts.entry((*package, number)).or_default().insert(cpu.id);
        }
    }
    parts.into_values().collect()
}

/// The CPUs of each cache of this level that holds data.
fn caches(machine: &Machine, level: u32) -> Vec<CpuSet> {
    let of_level = machine.caches.iter().filter(|cache| cache.level == level);
    of_level.filter(|cache| cache.kind != CacheType::Instruction).map(|cache| cache.cpus.clone()).collect()
}

/// The CPUs of each cache that is the last one for any of them.
fn last_level_caches(machine: &Machine) -> Vec<CpuSet> {
    let mut last: BTreeMap<u32, (u32, usize)> = BTreeMap::new();
    for (at, cache) in machine.caches.iter().enumerate() {
        if cache.kind == CacheType::Instruction {
            continue;
        }
        for cpu in cache.cpus.iter() {
            let known = last.entry(cpu).or_insert((cache.level, at));
            *known = (*known).max((cache.level, at));
        }
    }
    let used: BTreeSet<usize> = last.into_values().map(|(_, at)| at).collect();
    used.into_iter().filter_map(|at| machine.caches.get(at)).map(|cache| cache.cpus.clone()).collect()
}

/// The first online thread of each core, the second, and so on.
fn threads(machine: &Machine, online: &CpuSet) -> Vec<(u32, CpuSet)> {
    let mut threads: BTreeMap<u32, CpuSet> = BTreeMap::new();
    for core in machine.cores() {
        for (position, cpu) in (0..).zip(core.intersection(online).iter()) {
            threads.entry(position).or_default().insert(cpu);
        }
    }
    threads.into_iter().collect()
}

/// The kinds of cores, with the words for those whose order is known.
fn kinds(machine: &Machine, online: &CpuSet) -> Vec<CpuGroup> {
    let capacities: Vec<Option<u32>> =
        machine.core_kinds.iter().map(|kind| capacity(kind, machine)).collect();
    let groups = (0..).zip(&machine.core_kinds).zip(&capacities);
    let named = groups.map(|((number, kind), own)| {
        let mut words: Vec<&str> = match kind.name.as_str() {
            "cpu_core" => vec!["performance", "cpu_core"],
            "cpu_atom" => vec!["efficiency", "cpu_atom"],
            "cpu_lowpower" => vec!["lowpower", "cpu_lowpower"],
            _ => Vec::new(),
        };
        if words.is_empty() {
            words.extend(by_capacity(*own, &capacities));
        }
        let also = words.into_iter().map(|word| format!("{}:{word}", GroupKind::Kind)).collect();
        CpuGroup { also, ..CpuGroup::new(GroupKind::Kind, number, kind.cpus.intersection(online)) }
    });
    named.collect()
}

/// What `cpu_capacity` says of all CPUs of a kind; `None` where they differ or it is not known.
fn capacity(kind: &CoreKind, machine: &Machine) -> Option<u32> {
    let mut of_cpus = kind.cpus.iter().map(|cpu| machine.cpu(cpu).and_then(|cpu| cpu.capacity));
    let first = of_cpus.next()??;
    of_cpus.all(|other| other == Some(first)).then_some(first)
}

/// The word for the strongest kind of cores and for the weakest. Kinds of one capacity (favoured cores, which differ in their base
/// clock alone) have none.
fn by_capacity(own: Option<u32>, all: &[Option<u32>]) -> Option<&'static str> {
    let own = own?;
    let known: Vec<u32> = all.iter().copied().collect::<Option<_>>()?;
    let (weakest, strongest) = (known.iter().min()?, known.iter().max()?);
    match own {
        _ if weakest == strongest => None,
        own if own == *strongest => Some("performance"),
        own if own == *weakest => Some("efficiency"),
        _ => None,
    }
}

/// The names of groups of one kind, for messages: `l3:0 .. l3:7`, or `node:0, node:8`; empty where there is none.
pub(crate) fn span(groups: &[CpuGroup]) -> String {
    let (Some(first), Some(last)) = (groups.first(), groups.last()) else { return String::new() };
    let words: Vec<&str> = groups.iter().flat_map(|group| &group.also).map(String::as_str).collect();
    let is_gapless = groups.windows(2).all(|pair| pair[0].number.checked_add(1) == Some(pair[1].number));
    let numbers = match groups.len() {
        1 => first.name.clone(),
        2.. if is_gapless => format!("{} .. {}", first.name, last.name),
        _ => {
            let names: Vec<&str> = groups.iter().take(MOST_NAMED).map(|group| group.name.as_str()).collect();
            let rest = if groups.len() > MOST_NAMED { ", ..." } else { "" };
            names.join(", ") + rest
        }
    };
    [vec![numbers.as_str()], words].concat().join(", ")
}

/// The names of all groups that a machine has, for messages; empty where it has none.
pub(crate) fn overview(machine: &Machine) -> String {
    let kinds = GroupKind::ALL.into_iter().map(|kind| span(&of_kind(kind, machine)));
    kinds.filter(|names| !names.is_empty()).collect::<Vec<_>>().join("; ")
}

/// Why a machine has no group of this kind: what could not be read, or else what its kernel does not report.
pub(crate) fn absence(kind: GroupKind, machine: &Machine) -> String {
    let (fact, otherwise) = match kind {
        GroupKind::Node => (Some(FactId::Nodes), "its kernel reports no NUMA node"),
        GroupKind::Package => (Some(FactId::Package), "its kernel reports no package"),
        GroupKind::Die => (
            machine.cpus.iter().any(|cpu| cpu.die.is_some()).then_some(FactId::Package),
            "its kernel reports no dies (topology/die_id)",
        ),
        GroupKind::Cluster => (
            machine.cpus.iter().any(|cpu| cpu.cluster.is_some()).then_some(FactId::Package),
            "its kernel reports no clusters (topology/cluster_id)",
        ),
        GroupKind::Llc => (Some(FactId::Caches), "its kernel reports no caches"),
        GroupKind::L3 => (Some(FactId::Caches), "its kernel reports no cache of level 3"),
        GroupKind::L2 => (Some(FactId::Caches), "its kernel reports no cache of level 2"),
        GroupKind::Kind => (None, "its kernel does not report several kinds of cores"),
        GroupKind::Core | GroupKind::Smt => (Some(FactId::Siblings), "its kernel reports no cores"),
    };
    let missing = fact.and_then(|fact| machine.missing.iter().find(|missing| missing.is(&fact)));
    match missing {
        Some(missing) => format!("{} could not be read: {}", missing.fact, missing.why),
        None => otherwise.into(),
    }
}

#[cfg(test)]
mod tests;
