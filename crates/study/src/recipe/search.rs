//! What is searched where there are too many placements to try each of them.

use machine::{Class, Fault};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Factor, Recipe};

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

impl Search {
    /// Holds it to what a search can do, beside the other keys of `recipe`.
    pub(super) fn check(&self, recipe: &Recipe) -> Result<(), Fault> {
        let wrong = |key: &str, cause: &str, remedy: &str| Err(Fault::new(Class::Usage, key, cause, remedy));
        if self.server.contains(&0) {
            return wrong("search.server", "a server on 0 CPUs is none", "leave the 0 out");
        }
        if !recipe.budget.looks.is_empty() {
            let remedy =
                "leave it out: a search ends by its own rule, and is confirmed in budget.blocks blocks";
            return wrong("budget.looks", "a search has none", remedy);
        }
        if !recipe.expectations.is_empty() {
            let remedy = "leave them out, and hold the placement that it finds to them in a study of its own";
            return wrong("expectations", "a search has no arms before it has run", remedy);
        }
        if recipe.asks_for_boots() {
            let cause = "each of its trials would want a boot of its own";
            let remedy =
                "search under the kernel that runs now, and study boot parameters with what was found";
            return wrong("search", cause, remedy);
        }
        if !self.cpus {
            return self.check_levels_alone(recipe);
        }
        let fits = |factor: &Factor| {
            matches!(factor, Factor::Memory { .. } | Factor::Knob { .. } | Factor::Key { .. })
                || matches!(factor, Factor::Places { levels, .. }
                if levels.iter().all(|place| {
                    place.server.is_none() && place.load.is_none() && place.housekeeping.is_none()
                }))
        };
        match recipe.factors.iter().find(|factor| !fits(factor)) {
            None => Ok(()),
            Some(factor) => Err(Fault::new(
                Class::Usage,
                format!("factor {}", factor.name()),
                "it places the server or the load, which the search does, or the kernel's own work, which depends on that",
                "leave it out, search without CPUs (search.cpus = false), or leave [search] out and try each of its levels",
            )),
        }
    }

    fn check_levels_alone(&self, recipe: &Recipe) -> Result<(), Fault> {
        let wrong = |cause: &str, remedy: &str| Err(Fault::new(Class::Usage, "search.cpus", cause, remedy));
        if recipe.factors.is_empty() {
            return wrong("without CPUs there is nothing to search", "add [[factors]], or leave it out");
        }
        if !self.server.is_empty() || !self.load.is_empty() {
            let remedy = "leave search.server and search.load out, or this";
            return wrong("CPUs are not to be searched, and numbers of them are named", remedy);
        }
        let moves_work = |factor: &&Factor| matches!(factor, Factor::Places { levels, .. } if levels.iter().any(|place| place.housekeeping.is_some()));
        if let Some(factor) = recipe.factors.iter().find(moves_work) {
            return Err(Fault::new(
                Class::Usage,
                format!("factor {}", factor.name()),
                "it moves the kernel's own work, which a search does not",
                "leave `housekeeping` out of its levels, or leave [search] out and try each of them",
            ));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fault(text: &str) -> String {
        Recipe::from_toml(text, "x").unwrap_err().to_string()
    }

    #[test]
    fn an_empty_table_is_a_search_of_all_sizes() {
        let recipe = Recipe::from_toml("[search]\n", "x").unwrap();
        assert_eq!(recipe.search, Some(Search::default()));
        let again = Recipe::from_toml(&recipe.to_toml().unwrap(), "x").unwrap();
        assert_eq!(again, recipe);
    }

    #[test]
    fn what_does_not_go_with_a_search_is_named() {
        assert!(fault("[search]\n[[factors]]\nkind = \"each-cpu\"\n").contains("factor cpu"));
        assert!(fault("[search]\n[budget]\nlooks = [4]\n").contains("budget.looks"));
        assert!(fault("[search]\ncpus = false\n").contains("search.cpus: without CPUs there is nothing"));
        let key = "[[factors]]\nkind = \"key\"\nkey = \"load.connections\"\nvalues = [1, 2]\n";
        assert!(fault(&format!("[search]\ncpus = false\nserver = [1]\n{key}")).contains("numbers of them"));
        Recipe::from_toml(&format!("[search]\ncpus = false\n{key}"), "x").unwrap();
        assert!(fault("[search]\nserver = [0, 1]\n").contains("search.server"));
        assert!(fault("[search]\ntrials = 1\n").contains("search.trials"));
        let boot =
            "[search]\n[[factors]]\nkind = \"boot\"\nlevels = [{ words = \"\" }, { words = \"nosmt\" }]\n";
        assert!(fault(boot).contains("a boot of its own"));
        assert!(fault("[search]\n[baseline]\nboot = \"nosmt\"\n").contains("a boot of its own"));
        let places = "[search]\n[[factors]]\nkind = \"places\"\nlevels = [{ memory = \"local\" }, { server = \"0\" }]\n";
        assert!(fault(places).contains("factor place"));
    }
}
