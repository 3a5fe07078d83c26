//! Facts that could not be had, kept beside those that could.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use crate::procfs::Oddities;

/// A fact that code asks for when it is missing. Others are known by their words alone, which nothing compares.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum FactId {
    /// What the kernel reports by BPF programs: accounts, noise.
    KernelEvents,
    /// Requests to a server, as the kernel sees them: all of them.
    Requests,
    /// Rows of the probe of this name.
    Probe(String),
    /// Energy of a part of the machine that is counted within a larger part, too.
    EnergyWithin,
    /// What took time from a target on CPUs that were left out.
    OtherCpus,
    /// Lengths of interrupts and functions of the kernel, of exactly the time of an account.
    AccountDetail,
    /// Some threads of the server, which an account did not see.
    ServerThreads,
    /// A file of one trial of a case.
    TrialFile,
    /// The CPUs of the machine.
    Cpus,
    /// Counts of the CPU of this number, which was not online all the time.
    CpuAway(u32),
    /// The package of some CPUs.
    Package,
    /// The SMT siblings of some CPUs, which make up their core.
    Siblings,
    /// The caches of some CPUs.
    Caches,
    /// The NUMA nodes of the machine.
    Nodes,
    /// The NUMA node of some CPUs.
    NodeOfCpus,
    /// The CPUs of the NUMA node of this number.
    CpusOfNode(u32),
    /// A counter of /proc/vmstat, by the kernel's name: it is there, and how far it moved is not known.
    VmstatCounter(String),
    /// How some tasks compete that take from a server.
    Tasks,
}

/// A fact that is not known, and why: absent file, refused permission, malformed text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Missing {
    /// What it is for code that asks for it; absent from older records.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<FactId>,
    /// The fact by name or path, for example `eth0 numa_node` or `/proc/schedstat`.
    pub fact: String,
    /// Why it is not known, with the remedy where there is one.
    pub why: String,
}

impl Missing {
    /// A missing fact with its reason.
    pub fn new(fact: impl fmt::Display, why: impl fmt::Display) -> Self {
        Self { id: None, fact: fact.to_string(), why: why.to_string() }
    }

    /// The same, for code that asks for it.
    pub fn identified(self, id: FactId) -> Self {
        Self { id: Some(id), ..self }
    }

    /// The rows and fields of `file` that could not be read while the rest could: the first of them each by itself, and how many there
    /// are besides.
    pub fn of_odd(file: impl fmt::Display, odd: &Oddities) -> Vec<Self> {
        let each = odd.first().iter().map(|odd| Self::new(format_args!("{file} {}", odd.what.trim()), odd));
        let more = (odd.more() > 0).then(|| {
            Self::new(&file, format_args!("{} more of its rows and fields are malformed", odd.more()))
        });
        each.chain(more).collect()
    }

    /// Adds those that are not there yet.
    pub fn add_new<'a>(all: &mut Vec<Self>, more: impl IntoIterator<Item = &'a Self>) {
        for missing in more {
            if !all.contains(missing) {
                all.push(missing.clone());
            }
        }
    }

    /// Whether it is this fact.
    pub fn is(&self, id: &FactId) -> bool {
        self.id.as_ref() == Some(id)
    }

    /// Whether it is of the rows of this probe.
    pub fn is_of_probe(&self, name: &str) -> bool {
        matches!(&self.id, Some(FactId::Probe(probe)) if probe == name)
    }
}

/// Collects the missing facts while a machine or a sample is read.
#[derive(Debug, Default)]
pub struct Notes {
    in_order: Vec<Missing>,
    /// The same: a tree from elsewhere can have a million facts missing.
    known: BTreeSet<Missing>,
}

impl Notes {
    /// An empty collection.
    pub fn new() -> Self {
        Self::default()
    }

    /// Notes that `fact` is missing.
    pub fn missing(&mut self, fact: impl fmt::Display, why: impl fmt::Display) {
        self.add(Missing::new(fact, why));
    }

    /// Notes what is missing, once.
    pub fn add(&mut self, missing: Missing) {
        if self.known.insert(missing.clone()) {
            self.in_order.push(missing);
        }
    }

    /// Notes what could not be read of a file of which the rest could be.
    pub fn odd(&mut self, file: impl fmt::Display, odd: &Oddities) {
        Missing::of_odd(file, odd).into_iter().for_each(|missing| self.add(missing));
    }

    /// Turns a result into an option; an error becomes a missing `fact`.
    pub fn keep<T, E: fmt::Display>(&mut self, fact: impl fmt::Display, result: Result<T, E>) -> Option<T> {
        result.map_err(|why| self.missing(fact, why)).ok()
    }

    /// What was noted, in order.
    pub fn into_vec(self) -> Vec<Missing> {
        self.in_order
    }
}
