//! Factors: what a study varies, and the levels of each.

use machine::CpuSet;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::place::Place;

/// In which order the CPUs of a server that grows are taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fill {
    /// One thread of each core, node by node; then the other threads, in the same order of cores.
    #[default]
    CoresFirst,
    /// All threads of a core before the next core, node by node.
    SiblingsFirst,
    /// One thread of a core of each node in turn; then the other threads.
    Spread,
}

impl Fill {
    /// The word in recipes and tables.
    pub fn word(self) -> &'static str {
        match self {
            Fill::CoresFirst => "cores first",
            Fill::SiblingsFirst => "siblings first",
            Fill::Spread => "spread over nodes",
        }
    }
}

/// What is varied.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case", tag = "kind", deny_unknown_fields)]
pub enum Factor {
    /// The server on each of these CPUs in turn; none named: every CPU that pinwise may use.
    EachCpu {
        /// CPUs to try.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        cpus: Option<CpuSet>,
    },
    /// All arms alike: shows what the study says when there is nothing to say.
    AllAlike {
        /// How many arms beside the two baselines.
        copies: usize,
    },
    /// Places by name: CPUs of server and load as a pair, memory, knobs and keys together.
    Places {
        /// Name of the factor.
        #[serde(default = "place")]
        name: String,
        /// The places.
        levels: Vec<Place>,
    },
    /// The server on so many NUMA nodes: every choice of them.
    Nodes {
        /// Numbers of nodes to try; none: every number.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        sizes: Vec<usize>,
    },
    /// The server on so many CPUs, for a scaling curve.
    Cores {
        /// Numbers of CPUs; none: 1, 2, 3, 4, 6, 8, 12, 16 ... and all.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        counts: Vec<usize>,
        /// Orders in which CPUs are taken, each with a curve of its own.
        #[serde(default = "cores_first")]
        fill: Vec<Fill>,
    },
    /// Where the server's memory comes from, in the form of numactl(8).
    Memory {
        /// `local`, `bind:0`, `interleave:0-3`, `preferred:1`.
        policies: Vec<String>,
    },
    /// A knob at these values (`pinwise list knobs`).
    Knob {
        /// Its id.
        knob: String,
        /// Which of its objects; `server` for the server's process; none where there is only one.
        #[serde(default = "machine")]
        target: String,
        /// Values in the knob's own form.
        values: Vec<String>,
    },
    /// Words on the kernel's command line: trials of a level run under kernels that were booted with its words, each boot of them a unit
    /// of its own (docs/boot.md).
    Boot {
        /// Name of the factor.
        #[serde(default = "boot")]
        name: String,
        /// The words.
        levels: Vec<BootLevel>,
    },
    /// A key of the recipe at these values: arguments and environment of server and load, their number of connections, ...
    Key {
        /// `load.connections`, `server.env.GOMAXPROCS`, `variables.threads`.
        key: String,
        /// The values.
        #[schemars(with = "Vec<serde_json::Value>")]
        values: Vec<toml::Value>,
    },
}

/// Words that the boot loader passes to the kernel beside those of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BootLevel {
    /// Name in tables; without one it is made from the words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The words, apart by blanks; none: as the machine boots by itself.
    pub words: String,
}

fn boot() -> String {
    "boot".into()
}

fn place() -> String {
    "place".into()
}

fn machine() -> String {
    machine::plan::MACHINE.into()
}

fn cores_first() -> Vec<Fill> {
    vec![Fill::CoresFirst]
}

impl Factor {
    /// How many levels it names, or objects of them; 0 where the machine says them.
    pub(super) fn named_levels(&self) -> usize {
        match self {
            Factor::EachCpu { .. } => 0,
            Factor::AllAlike { copies } => *copies,
            Factor::Places { levels, .. } => levels.len(),
            Factor::Nodes { sizes } => sizes.len(),
            Factor::Cores { counts, fill } => counts.len().saturating_mul(fill.len()),
            Factor::Memory { policies } => policies.len(),
            Factor::Knob { values, .. } => values.len(),
            Factor::Boot { levels, .. } => levels.len(),
            Factor::Key { values, .. } => values.len(),
        }
    }

    /// Name in tables.
    pub fn name(&self) -> String {
        match self {
            Factor::EachCpu { .. } => "cpu".into(),
            Factor::AllAlike { .. } => "copy".into(),
            Factor::Places { name, .. } | Factor::Boot { name, .. } => name.clone(),
            Factor::Nodes { .. } => "nodes".into(),
            Factor::Cores { .. } => "cores".into(),
            Factor::Memory { .. } => "memory".into(),
            Factor::Knob { knob, target, .. } if target == machine::plan::MACHINE => knob.clone(),
            Factor::Knob { knob, target, .. } => format!("{knob} of {target}"),
            Factor::Key { key, .. } => key.clone(),
        }
    }
}
