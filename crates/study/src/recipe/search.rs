//! What is searched where there are too many placements to try each of them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A search for the best CPUs of the server, or of server and load, and of the levels of the other factors; or of the levels alone.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Search {
    /// Whether CPUs are searched; without, server and load are where the baseline or a factor has them, and combinations of the
    /// factors' levels alone are searched.
    pub cpus: bool,
    /// Numbers of CPUs that the server may have; none: every number up to 24 CPUs, multiples of a sixteenth of the machine beyond.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub server: Vec<usize>,
    /// Numbers of CPUs that the load may have beside the server's, which are then searched too; 0: where the server is not. None:
    /// the load is where the baseline has it, or where the server is not.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub load: Vec<usize>,
    /// Trials of placements before the best one is confirmed in `budget.blocks` fresh blocks.
    pub trials: usize,
    /// Placements in a block.
    pub arms_a_block: usize,
}

impl Default for Search {
    fn default() -> Self {
        Self { cpus: true, server: Vec::new(), load: Vec::new(), trials: 120, arms_a_block: 8 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recipe::Recipe;

    #[test]
    fn an_empty_table_is_a_search_of_all_sizes() {
        let recipe = Recipe::from_toml("[search]\n", "x").unwrap();
        assert_eq!(recipe.search, Some(Search::default()));
        let again = Recipe::from_toml(&recipe.to_toml().unwrap(), "x").unwrap();
        assert_eq!(again, recipe);
    }
}
