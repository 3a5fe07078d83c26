//! Where the server's memory comes from.

use machine::{CpuSet, Fault, Machine};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::FactorKind;
use crate::levels::{Level, memory_policy};

/// A factor of kind `memory`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Memory {
    /// `local`, `bind:0`, `interleave:0-3`, `preferred:1`.
    pub policies: Vec<String>,
}

impl FactorKind for Memory {
    fn name(&self) -> String {
        "memory".into()
    }

    fn named_levels(&self) -> usize {
        self.policies.len()
    }

    fn levels(&self, machine: &Machine, _load: Option<&CpuSet>) -> Result<Vec<Level>, Fault> {
        let level = |text: &String| -> Result<Level, Fault> {
            Ok(Level { memory: Some(memory_policy(text, machine)?), ..Level::named(text) })
        };
        self.policies.iter().map(level).collect()
    }
}
