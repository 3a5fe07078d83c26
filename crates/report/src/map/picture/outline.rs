//! What is drawn and what is within what; not yet where.

mod caches;
mod captions;
mod chips;
mod cores;
mod faces;
mod nest;

use std::collections::BTreeMap;

use machine::{CpuSet, Machine};

pub(super) use chips::word as chip_words;
pub use chips::{Chip, ChipKind};
pub use faces::{Face, Mark};

/// A machine as groups within groups. Group 0 is the machine itself and has no frame.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Outline {
    /// The groups; each but the first is in the `inner` of exactly one other.
    pub groups: Vec<Group>,
    /// How each CPU looks.
    pub faces: BTreeMap<u32, Face>,
    /// What the machine has, in one line.
    pub headline: String,
    /// Kernel and further facts that concern all of the picture.
    pub lines: Vec<String>,
    /// What every core has of its own, where all are alike; it need not be drawn in each.
    pub each_core: Option<String>,
    /// What could not be drawn, and why.
    pub notes: Vec<String>,
    /// The firmware's distances between nodes.
    pub distances: Option<Distances>,
}

/// CPUs that have something in common, with what hangs there.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Group {
    /// The online CPUs in it; empty for a node of memory only.
    pub cpus: CpuSet,
    /// What it is, outermost first: the same CPUs may be a package, a node and the users of a cache.
    pub strips: Vec<Strip>,
    /// Groups within it, in order of their CPUs.
    pub inner: Vec<usize>,
    /// Cores that are in no group within it.
    pub blocks: Vec<Block>,
    /// Devices that hang here.
    pub chips: Vec<Chip>,
    /// What is said above the devices.
    pub chips_caption: Option<String>,
}

/// One level of the machine: a package, a node's memory, a cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Strip {
    /// What it is.
    pub kind: StripKind,
    /// Its number, where it has one; groups stand in order of it.
    pub number: Option<u32>,
    /// Its name: `node 0`, `L3`.
    pub name: String,
    /// Its size; empty for what has none.
    pub figure: String,
    /// Its CPUs; left out where there is no room.
    pub detail: String,
}

impl Strip {
    /// Name and size.
    pub fn words(&self) -> String {
        if self.figure.is_empty() { self.name.clone() } else { format!("{} {}", self.name, self.figure) }
    }
}

/// What a strip is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum StripKind {
    /// A package (socket).
    Package,
    /// A NUMA node, that is memory.
    Node,
    /// A die within a package.
    Die,
    /// A cluster of cores.
    Cluster,
    /// A cache that several cores share.
    Cache,
    /// CPUs of which nobody knows where they are.
    Unplaced,
}

/// Cores that are alike.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Block {
    /// What they have in common, where it has to be said.
    pub caption: Option<String>,
    /// The cores, in order of their CPUs.
    pub cores: Vec<Core>,
}

/// One core, or one CPU whose core is not reported.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Core {
    /// `core 3`, where the number is reported.
    pub name: Option<String>,
    /// Its threads.
    pub cpus: Vec<u32>,
    /// Its own caches, nearest last: `L2 1 MiB`.
    pub caches: Vec<String>,
}

/// Distances between nodes, from row to column, as the firmware reports them (ACPI SLIT; 10 is local).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Distances {
    /// Numbers of the nodes.
    pub nodes: Vec<u32>,
    /// A row for each node; `None` where it is not reported.
    pub rows: Vec<Vec<Option<u32>>>,
}

/// More nodes than this make no table that anybody reads.
const MOST_NODES_IN_TABLE: usize = 16;

impl Outline {
    /// Decides what of a machine is drawn, and within what.
    pub fn of(machine: &Machine) -> Self {
        let caches = caches::Caches::of(machine);
        let mut nest = nest::Nest::of(machine, &caches);
        let kinds = cores::place(machine, &caches, &mut nest);
        chips::hang(machine, &mut nest);
        nest.order();
        let mut notes = captions::gaps(machine);
        notes.append(&mut nest.notes);
        Self {
            faces: faces::of(machine),
            headline: captions::headline(machine),
            lines: captions::lines(machine),
            each_core: kinds.every_core(),
            notes,
            distances: distances(machine),
            groups: nest.groups,
        }
    }

    /// The cores that are drawn.
    pub fn cores(&self) -> impl Iterator<Item = &Core> {
        self.groups.iter().flat_map(|group| &group.blocks).flat_map(|block| &block.cores)
    }
}

impl Group {
    /// Whether a strip of this kind is among its own.
    pub fn is(&self, kind: StripKind) -> bool {
        self.strips.iter().any(|strip| strip.kind == kind)
    }
}

fn distances(machine: &Machine) -> Option<Distances> {
    let reported = machine.nodes.iter().any(|node| !node.distances.is_empty());
    let nodes: Vec<u32> = machine.nodes.iter().map(|node| node.id).collect();
    if !reported || nodes.len() < 2 || nodes.len() > MOST_NODES_IN_TABLE {
        return None;
    }
    let row = |node: &machine::topology::nodes::Node| {
        nodes.iter().map(|to| node.distances.get(to).copied()).collect()
    };
    Some(Distances { rows: machine.nodes.iter().map(row).collect(), nodes })
}
