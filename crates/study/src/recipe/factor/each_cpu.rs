//! The server on each CPU in turn.

use machine::{Class, CpuSet, Fault, Machine};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::FactorKind;
use crate::levels::Level;

/// A factor of kind `each-cpu`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct EachCpu {
    /// CPUs to try.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cpus: Option<CpuSet>,
}

impl FactorKind for EachCpu {
    fn name(&self) -> String {
        "cpu".into()
    }

    fn named_levels(&self) -> usize {
        0
    }

    fn levels(&self, machine: &Machine, _load: Option<&CpuSet>) -> Result<Vec<Level>, Fault> {
        let usable = machine.usable();
        let cpus = self.cpus.as_ref().unwrap_or(&usable);
        let outside = cpus.difference(&usable);
        if !outside.is_empty() {
            return Err(Fault::new(
                Class::Usage,
                format!("server CPUs {outside}"),
                format!(
                    "pinwise may not run there: it does not exist, is offline, or the affinity or cpuset of this shell leaves it out (allowed: {usable})"
                ),
                format!("choose from {usable}"),
            ));
        }
        Ok(cpus.iter().map(on_cpu).collect())
    }
}

fn on_cpu(cpu: u32) -> Level {
    Level { server: Some(CpuSet::single(cpu)), cpu: Some(cpu), ..Level::named(format!("cpu {cpu}")) }
}
