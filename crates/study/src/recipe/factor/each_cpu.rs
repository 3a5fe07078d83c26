//! The server on each CPU in turn.

use machine::{CpuChoice, CpuSet, Fault, Machine};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::FactorKind;
use crate::levels::Level;

/// A factor of kind `each-cpu`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EachCpu {
    /// CPUs to try, in the words of docs/cpus.md: `0-3`, `l3:0`, `all,!siblings`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<CpuChoice>,
}

impl EachCpu {
    /// The CPUs to try on a machine: all that may be used where none is named.
    ///
    /// # Errors
    /// CPUs that the machine does not have, or that may not be used.
    pub(crate) fn tried(&self, machine: &Machine) -> Result<CpuSet, Fault> {
        match &self.cpus {
            Some(cpus) => cpus.on(machine),
            None => Ok(machine.usable()),
        }
    }
}

impl FactorKind for EachCpu {
    fn name(&self) -> String {
        "cpu".into()
    }

    fn named_levels(&self) -> usize {
        0
    }

    fn levels(&self, machine: &Machine, _load: Option<&CpuSet>) -> Result<Vec<Level>, Fault> {
        Ok(self.tried(machine)?.iter().map(on_cpu).collect())
    }
}

fn on_cpu(cpu: u32) -> Level {
    Level { server: Some(CpuSet::single(cpu)), cpu: Some(cpu), ..Level::named(format!("cpu {cpu}")) }
}
