//! The relations of two CPUs, by what they share.

use serde::{Deserialize, Serialize};

/// The smallest thing that two CPUs are known to have in common. What is not known is taken to be the larger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Relation {
    /// Threads of one core (SMT siblings).
    Core,
    /// A last-level cache.
    Cache,
    /// A node of one package.
    Node,
    /// A package of several nodes.
    Package,
    /// The machine alone.
    Machine,
}

impl Relation {
    /// `within a core`, as a line of a summary begins.
    pub fn words(self) -> &'static str {
        match self {
            Relation::Core => "within a core",
            Relation::Cache => "within a cache",
            Relation::Node => "within a node",
            Relation::Package => "across nodes of a package",
            Relation::Machine => "across packages",
        }
    }
}
