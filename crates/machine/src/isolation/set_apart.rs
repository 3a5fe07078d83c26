//! What was found to keep CPUs out of the scheduler's balancing, or to make them a scheduling domain of their own.

use serde::{Deserialize, Serialize};

use crate::CpuSet;

/// CPUs that the scheduler balances apart from the others, or not at all.
///
/// `sets` and `domains` are what is in force; `missing` of the machine says what of it could not be seen.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Isolation {
    /// CPUs that the scheduler moves nothing onto or off, by what took them out of its balancing.
    pub sets: Vec<SetApart>,
    /// Partitions of kind `root` (cgroup v2): scheduling domains of their own, balanced within. Their CPUs are not isolated.
    pub domains: Vec<Domain>,
    /// Partitions that were asked for and are not in force.
    pub invalid: Vec<InvalidPartition>,
}

/// CPUs that one thing took out of balancing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetApart {
    /// What did.
    pub by: SetBy,
    /// The CPUs: of a cgroup those that are in force, without the ones that it gave to partitions below.
    pub cpus: CpuSet,
    /// Who lives in the cgroup and below; `None` where it is none, or that could not be read.
    #[serde(default)]
    pub residents: Option<Residents>,
}

/// What takes CPUs out of the scheduler's balancing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum SetBy {
    /// `isolcpus=` on the kernel's command line.
    Boot,
    /// A partition of kind `isolated` (cgroup v2, `cpuset.cpus.partition`).
    Partition {
        /// Its path in the hierarchy.
        cgroup: String,
    },
    /// A cpuset without load balancing (cgroup v1, `cpuset.sched_load_balance`), where no other one balances its CPUs.
    LoadBalanceOff {
        /// Its path in the hierarchy; `/` for CPUs that are in no other cpuset.
        cgroup: String,
    },
    /// The kernel lists them as isolated, and nothing that can be seen from here says by what.
    Unseen,
}

/// The processes of a cgroup and of those below it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Residents {
    /// How many there are.
    pub count: usize,
    /// The first few.
    pub first: Vec<Resident>,
}

/// A process of a cgroup.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Resident {
    /// Number.
    pub pid: u32,
    /// Name of its first thread.
    pub comm: String,
}

/// A partition that is a scheduling domain of its own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Domain {
    /// Its path in the hierarchy.
    pub cgroup: String,
    /// Its CPUs that are in force.
    pub cpus: CpuSet,
}

/// A partition that was asked for and is not in force.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InvalidPartition {
    /// Its path in the hierarchy.
    pub cgroup: String,
    /// What was asked for.
    pub asked: PartitionKind,
    /// The kernel's reason, where it gives one.
    pub why: Option<String>,
}

/// A kind of partition (`cpuset.cpus.partition`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PartitionKind {
    /// A scheduling domain of its own.
    Root,
    /// Without load balancing.
    Isolated,
}

impl Isolation {
    /// All CPUs that something took out of balancing.
    pub fn cpus(&self) -> CpuSet {
        self.sets.iter().flat_map(|set| set.cpus.iter()).collect()
    }

    /// What took any of these CPUs out of balancing.
    pub fn of<'a>(&'a self, cpus: &'a CpuSet) -> impl Iterator<Item = &'a SetApart> {
        self.sets.iter().filter(move |set| !set.cpus.intersection(cpus).is_empty())
    }
}

impl PartitionKind {
    /// As the kernel writes it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Root => "root",
            Self::Isolated => "isolated",
        }
    }
}
