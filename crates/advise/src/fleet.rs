//! Many hosts side by side: grouped into equal shapes, and for each shape what differs from its kind. Pure.
//!
//! # Kind and state
//!
//! A shape is what the hardware *is*. Everything that firmware, the command line or a person can switch is *state*, and state that is not
//! what most hosts of a shape have is a difference:
//!
//! | kind (`kind`) | state (features) |
//! |---|---|
//! | architecture, model of the CPU, whether a hypervisor is below | which hypervisor, kernel, microcode, mitigations |
//! | packages | which CPUs are in which package |
//! | cores that are there, with those of which no thread is online (`layout`) | threads of a core (SMT), CPUs present, CPUs offline |
//! | kinds of cores, sizes of caches | how many cores share a cache |
//! | | nodes (NPS, SNC), CPUs and memory of each, distances: firmware shows one machine in several ways |
//! | | memory: a DIMM may be missing |
//! | | network cards, disks, accelerators: one that is missing is what is looked for |
//!
//! Devices are no part of the kind. Hosts of one CPU and two sets of devices are one shape, of which the larger part is usual.
//!
//! A host that hides a part of its kind (a whole package is offline, `nr_cpus=` cuts the CPUs, the capture has no caches) is counted with
//! the largest kind that it could be; see `kind::group`.
//!
//! # What is usual
//!
//! A value is usual where at least three hosts of the shape know the feature and more than half of those have it. Sizes within 4 % are one
//! value: firmware keeps some MiB for itself, and the smallest DIMM is more of its node. CPUs of a list that are offline on a host are
//! not held against it. Where nothing is usual, the values stand side by side ([`Variation`]).
//!
//! What is not known on a host is no difference. A difference that follows from another one of the same host is not listed
//! beside it (`consequences`). Counters, times, serial numbers, addresses and numbers of interrupts are never compared.
//!
//! Only texts and sizes are kept of a machine, each text once.
//!
//! # What is done with a fleet
//!
//! [`chosen`] says which hosts stand for their shapes, [`unlike`] which are built otherwise than the one of a plan, [`Waves`] in which
//! order hosts get a plan, and [`rollout`] what becomes of it.

mod cards;
mod choice;
mod column;
mod compare;
mod consequences;
mod facts;
mod feature;
mod feature_words;
mod judge;
mod kind;
mod layout;
mod likeness;
mod processor;
mod reduced;
pub mod rollout;
mod side_by_side;
mod symbols;
mod values;
mod waves;
mod words;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;

use machine::Machine;
use serde::Serialize;

pub use choice::{Chosen, chosen};
pub use column::Column;
pub use feature::FeatureId;
pub use likeness::{Deviation, Unlike, unlike};
pub use processor::Processor;
pub use side_by_side::{Apart, SideBySide};
pub use waves::Waves;

use reduced::Reduced;
use symbols::Symbols;

/// Takes machines one by one and keeps only what is compared.
#[derive(Debug, Default)]
pub struct Grouper {
    symbols: Symbols,
    hosts: Vec<Reduced>,
}

impl Grouper {
    /// Takes a host, with model and microcode of its CPUs, which a [`Machine`] does not have.
    ///
    /// No two hosts should have the same name: their differences could not be distinguished.
    pub fn add_with(&mut self, host: &str, machine: &Machine, processor: &Processor) {
        let reduced = Reduced::of(Arc::from(host), machine, processor, &mut self.symbols);
        self.hosts.push(reduced);
    }

    /// Puts the hosts side by side in the order in which they were taken, whatever their shapes are and without anything being usual: for
    /// a few of them.
    pub fn side_by_side(self) -> SideBySide {
        side_by_side::of(&self.hosts, &self.symbols)
    }

    /// Groups the hosts and compares those of each shape. The order in which they were taken makes no difference.
    pub fn finish(self) -> Fleet {
        let groups = kind::group(&self.hosts, &self.symbols);
        let mut shapes: Vec<Shape> =
            groups.iter().map(|group| compare::shape(group, &self.hosts, &self.symbols)).collect();
        shapes.sort_by(|a, b| {
            let more_hosts = b.hosts.len().cmp(&a.hosts.len());
            more_hosts.then_with(|| (&a.title, &a.id).cmp(&(&b.title, &b.id)))
        });
        Fleet { shapes }
    }
}

/// Hosts by their shape.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Fleet {
    /// The shapes, that of most hosts first.
    pub shapes: Vec<Shape>,
}

/// Hosts whose hardware is of one kind.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Shape {
    /// 8 hexadecimal digits that depend on the kind alone: the same in every run, whatever hosts there are.
    pub id: String,
    /// In words: `2 packages, 48 cores, 96 CPUs, 2 nodes, AMD EPYC 7402`. CPUs and nodes are those of most hosts.
    pub title: String,
    /// The hosts by name.
    pub hosts: Vec<String>,
    /// What deviates from what is usual, the heaviest first.
    pub differences: Vec<Difference>,
    /// The usual value of each feature that has one, by the name of the feature, and after a blank what it is of (`card-node eth0`).
    pub features: BTreeMap<String, String>,
    /// Features that differ from host to host without a usual value.
    pub varies: Vec<Variation>,
    /// What each host has of the features that are in `features` or in `varies`, by their names: for tables.
    #[serde(skip)]
    pub columns: Vec<Column>,
}

/// A host that is not as most of its shape are.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Difference {
    /// The host.
    pub host: String,
    /// In what it differs.
    pub feature: FeatureId,
    /// What of: `eth0`, `node 1`, the name of a boot parameter; empty for what a machine has once.
    pub subject: String,
    /// What is usual.
    pub usual: String,
    /// What this host has.
    pub here: String,
    /// How many hosts of the shape have what is usual.
    pub shared_by: usize,
    /// For ranking: how much the feature bears on a server, 0 to 10, times the share of hosts that have what is usual.
    pub weight: f64,
    /// Why it matters.
    pub why: &'static str,
}

/// A feature without a usual value.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Variation {
    /// Which.
    pub feature: FeatureId,
    /// What of, as in [`Difference`].
    pub subject: String,
    /// The values, that of most hosts first, each with its hosts; of very many the most frequent ones.
    pub values: Vec<(String, Vec<String>)>,
    /// The hosts that have none of these; none where `values` has all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub others: Option<Others>,
}

/// The rarer values of a feature, together.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Others {
    /// How many values they are.
    pub values: usize,
    /// The hosts that have one of them, by name.
    pub hosts: Vec<String>,
}
