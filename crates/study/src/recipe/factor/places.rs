//! Places of server and load by name, with all that goes with them.

use machine::{CpuSet, Fault, Machine};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::FactorKind;
use crate::levels::{Level, placed};
use crate::recipe::place::Place;

/// A factor of kind `places`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Places {
    /// Name of the factor.
    #[serde(default = "place")]
    pub name: String,
    /// The places.
    pub levels: Vec<Place>,
}

fn place() -> String {
    "place".into()
}

impl FactorKind for Places {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn named_levels(&self) -> usize {
        self.levels.len()
    }

    fn levels(&self, machine: &Machine, _load: Option<&CpuSet>) -> Result<Vec<Level>, Fault> {
        self.levels.iter().map(|place| placed(place, machine)).collect()
    }
}
