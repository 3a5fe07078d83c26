//! What runs beside the server, as a recipe names it.

use machine::{CpuChoice, Fault, Machine, Neighbour};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A command that runs beside the server for the length of a trial: a batch job, a logger, a deliberate disturbance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct NeighbourSpec {
    /// Command line; `{cpu}` and `{cpus}` stand for where it runs.
    pub command: String,
    /// CPUs that it is pinned to.
    pub cpus: CpuChoice,
}

impl NeighbourSpec {
    /// It on a machine.
    ///
    /// # Errors
    /// CPUs that the machine does not have, or that may not be used.
    pub fn on(&self, machine: &Machine) -> Result<Neighbour, Fault> {
        Ok(Neighbour { command: self.command.clone(), cpus: self.cpus.on(machine)? })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::levels::tests::two_nodes_of_two_cores_of_two_threads;

    #[test]
    fn its_cpus_are_words_and_must_be_there() {
        let on = |cpus: &str| {
            let spec = NeighbourSpec { command: "batch".into(), cpus: cpus.parse().unwrap() };
            spec.on(&two_nodes_of_two_cores_of_two_threads()).map(|neighbour| neighbour.cpus.len())
        };
        assert_eq!((on("node:0"), on("0,3")), (Ok(4), Ok(2)));
        assert!(on("9").unwrap_err().to_string().contains("may not run on 9"));
    }
}
