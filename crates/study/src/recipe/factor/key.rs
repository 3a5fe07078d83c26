//! A key of the recipe at several values.

use std::collections::BTreeMap;

use machine::{CpuSet, Fault, Machine};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::FactorKind;
use crate::levels::Level;
use crate::recipe::place::key_title;

/// A factor of kind `key`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Key {
    /// `load.connections`, `server.env.GOMAXPROCS`, `variables.threads`.
    pub key: String,
    /// The values.
    #[schemars(with = "Vec<serde_json::Value>")]
    pub values: Vec<toml::Value>,
}

impl FactorKind for Key {
    fn name(&self) -> String {
        self.key.clone()
    }

    fn named_levels(&self) -> usize {
        self.values.len()
    }

    fn levels(&self, _machine: &Machine, _load: Option<&CpuSet>) -> Result<Vec<Level>, Fault> {
        let level = |value: &toml::Value| Level {
            keys: BTreeMap::from([(self.key.clone(), value.clone())]),
            ..Level::named(key_title(&self.key, value))
        };
        Ok(self.values.iter().map(level).collect())
    }
}
