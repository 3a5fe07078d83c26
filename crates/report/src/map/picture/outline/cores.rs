//! Cores in their groups, sorted by kind.

use std::collections::{BTreeMap, BTreeSet};

use machine::topology::caches::Cache;
use machine::topology::cpus::Cpu;
use machine::wording::counted;
use machine::{CpuSet, Machine};

use super::caches::{self, Caches};
use super::nest::{MACHINE, Nest};
use super::{Block, Core, Group, Strip, StripKind};
use crate::map::machine_text::cpus as cpu_words;

/// More kinds of cores than this are no kinds: then each has its own caches in its tooltip only.
const MOST_KINDS: usize = 6;

/// What makes cores of a kind: their own caches and their relative power.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Default)]
struct Kind {
    capacity: Option<u32>,
    caches: Vec<String>,
}

/// The kinds of cores that a machine has, in order of their first CPU.
#[derive(Debug, Default)]
pub(super) struct Kinds(Vec<Kind>);

impl Kinds {
    /// What every core has, if all are of one kind and that is known.
    pub(super) fn every_core(&self) -> Option<String> {
        match self.0.as_slice() {
            [kind] if !kind.caches.is_empty() => Some(kind.words()),
            _ => None,
        }
    }

    fn index(&mut self, kind: Kind) -> usize {
        self.0.iter().position(|known| *known == kind).unwrap_or_else(|| {
            self.0.push(kind);
            self.0.len() - 1
        })
    }
}

impl Kind {
    fn words(&self) -> String {
        // 1024 is the strongest core of the machine: nothing to say.
        let weaker = self.capacity.filter(|capacity| *capacity != 1024);
        let capacity = weaker.map(|capacity| format!("capacity {capacity} of 1024"));
        let nearest_first = self.caches.iter().rev().cloned();
        nearest_first.chain(capacity).collect::<Vec<_>>().join(", ")
    }
}

/// Puts every CPU of the machine into a group, once.
pub(super) fn place(machine: &Machine, caches: &Caches, nest: &mut Nest) -> Kinds {
    let cpus: BTreeMap<u32, &Cpu> = machine.cpus.iter().map(|cpu| (cpu.id, cpu)).collect();
    let mut kinds = Kinds::default();
    let mut placed: BTreeSet<u32> = BTreeSet::new();
    let mut of_group: BTreeMap<usize, BTreeMap<usize, Vec<Core>>> = BTreeMap::new();
    for cpu in machine.cpus.iter().filter(|cpu| cpu.online) {
        if placed.contains(&cpu.id) {
            continue;
        }
        let group = nest.around(cpu.id);
        let threads = threads(cpu, nest, &placed);
        placed.extend(threads.iter().copied());
        let own: Vec<&Cache> =
            threads.iter().filter_map(|cpu| caches.private.get(cpu)).flatten().copied().collect();
        let core = core(cpu, threads, &own);
        let kind = kinds.index(Kind { capacity: cpu.capacity, caches: core.caches.clone() });
        of_group.entry(group).or_default().entry(kind).or_default().push(core);
    }
    let several = (2..=MOST_KINDS).contains(&kinds.0.len());
    for (group, of_kind) in of_group {
        let block = |(kind, cores): (usize, Vec<Core>)| {
            let caption = several.then(|| caption(&kinds.0[kind], &cores, &cpus)).flatten();
            Block { caption, cores }
        };
        let blocks = of_kind.into_iter().map(block).collect();
        match group {
            MACHINE => drop(nest.add(MACHINE, unplaced(blocks))),
            group => nest.groups[group].blocks = blocks,
        }
    }
    place_offline(machine, nest);
    kinds
}

/// The threads of the core of `cpu` that are in its group and not drawn yet: tables that contradict themselves must
/// not draw a CPU twice.
fn threads(cpu: &Cpu, nest: &mut Nest, placed: &BTreeSet<u32>) -> Vec<u32> {
    let group = nest.around(cpu.id);
    let Some(siblings) = &cpu.siblings else { return vec![cpu.id] };
    let (here, elsewhere): (Vec<u32>, Vec<u32>) = siblings
        .iter()
        .filter(|id| nest.has(*id) && !placed.contains(id))
        .partition(|id| nest.around(*id) == group);
    if !elsewhere.is_empty() {
        let who = cpu_words(siblings);
        nest.notes
            .push(format!("the core of {who} is drawn in parts: a smaller group holds only some of them"));
    }
    if here.contains(&cpu.id) { here } else { vec![cpu.id] }
}

fn core(cpu: &Cpu, cpus: Vec<u32>, own: &[&Cache]) -> Core {
    let mut counts: BTreeMap<(u32, String), usize> = BTreeMap::new();
    for cache in own {
        *counts.entry((cache.level, caches::words(cache))).or_default() += 1;
    }
    let words = |((_, text), count): (&(u32, String), &usize)| match count {
        1 => text.clone(),
        n => format!("{n} x {text}"),
    };
    Core {
        name: cpu.core.filter(|_| cpu.siblings.is_some()).map(|id| format!("core {id}")),
        cpus,
        caches: counts.iter().rev().map(words).collect(),
    }
}

/// `6 cores of 2 threads, up to 4.70 GHz: L1d 48 KiB, L1i 32 KiB, L2 1.2 MiB`
fn caption(kind: &Kind, cores: &[Core], cpus: &BTreeMap<u32, &Cpu>) -> Option<String> {
    let threads = cores.iter().map(|core| core.cpus.len()).max().filter(|most| *most > 1);
    let speeds: BTreeSet<u64> =
        cores.iter().flat_map(|core| &core.cpus).filter_map(|cpu| cpus.get(cpu)?.max_frequency_khz).collect();
    let ghz = |khz: &u64| format!("{:.2}", *khz as f64 / 1e6);
    let speed = match (speeds.first(), speeds.last()) {
        (Some(low), Some(high)) if low == high => format!(", up to {} GHz", ghz(high)),
        (Some(low), Some(high)) => format!(", up to {} to {} GHz", ghz(low), ghz(high)),
        _ => String::new(),
    };
    let threads = threads.map(|most| format!(" of {most} threads")).unwrap_or_default();
    let words = kind.words();
    let words = if words.is_empty() { "own caches unknown".into() } else { words };
    Some(format!("{}{threads}{speed}: {words}", counted(cores.len(), "core")))
}

fn unplaced(blocks: Vec<Block>) -> Group {
    let cpus: CpuSet = blocks.iter().flat_map(|b| &b.cores).flat_map(|core| &core.cpus).copied().collect();
    let detail = cpu_words(&cpus);
    let strip = Strip {
        kind: StripKind::Unplaced,
        number: None,
        name: "place unknown".into(),
        figure: String::new(),
        detail,
    };
    Group { cpus, strips: vec![strip], blocks, ..Group::default() }
}

/// Offline CPUs keep at most their node.
fn place_offline(machine: &Machine, nest: &mut Nest) {
    let mut of_group: BTreeMap<Option<usize>, Vec<Core>> = BTreeMap::new();
    for cpu in machine.cpus.iter().filter(|cpu| !cpu.online) {
        let group = cpu.node.and_then(|node| nest.of_node(node));
        of_group.entry(group).or_default().push(Core { cpus: vec![cpu.id], ..Core::default() });
    }
    for (group, cores) in of_group {
        match group {
            Some(group) => {
                let caption = Some("offline".to_string());
                nest.groups[group].blocks.push(Block { caption, cores });
            }
            None => {
                let mut group = unplaced(vec![Block { caption: None, cores }]);
                group.strips[0].name = "offline, place unknown".into();
                nest.add(MACHINE, group);
            }
        }
    }
}
