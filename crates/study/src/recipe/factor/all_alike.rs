//! Arms that do not differ: an A/A study.

use machine::{CpuSet, Fault, Machine};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::FactorKind;
use crate::levels::Level;

/// A factor of kind `all-alike`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AllAlike {
    /// How many arms beside the two baselines.
    pub copies: usize,
}

impl FactorKind for AllAlike {
    fn name(&self) -> String {
        "copy".into()
    }

    fn named_levels(&self) -> usize {
        self.copies
    }

    fn levels(&self, _machine: &Machine, _load: Option<&CpuSet>) -> Result<Vec<Level>, Fault> {
        Ok((1..=self.copies).map(|i| Level::named(format!("same {i}"))).collect())
    }
}
