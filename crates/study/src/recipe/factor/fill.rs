//! In which order the CPUs of a server that grows are taken.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

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
