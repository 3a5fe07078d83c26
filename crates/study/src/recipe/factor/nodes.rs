//! The server on every choice of NUMA nodes.

use machine::{Class, CpuSet, Fault, Machine};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::FactorKind;
use crate::levels::Level;

/// Most nodes whose every choice is tried.
const MOST_NODES: usize = 8;

/// A factor of kind `nodes`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Nodes {
    /// Numbers of nodes to try; none: every number.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sizes: Vec<usize>,
}

impl FactorKind for Nodes {
    fn name(&self) -> String {
        "nodes".into()
    }

    fn named_levels(&self) -> usize {
        self.sizes.len()
    }

    fn levels(&self, machine: &Machine, _load: Option<&CpuSet>) -> Result<Vec<Level>, Fault> {
        let usable = machine.usable();
        let with_cpus: Vec<(u32, CpuSet)> = machine
            .nodes
            .iter()
            .map(|node| (node.id, node.cpus.intersection(&usable)))
            .filter(|(_, cpus)| !cpus.is_empty())
            .collect();
        if with_cpus.is_empty() || with_cpus.len() > MOST_NODES {
            return Err(Fault::new(
                Class::MachineLacks,
                "factor nodes",
                format!(
                    "this machine has {} NUMA nodes with CPUs; 1 to {MOST_NODES} can be tried in every choice",
                    with_cpus.len()
                ),
                "name the choices as levels of a factor of kind places",
            ));
        }
        let choices = 1u32..1 << with_cpus.len();
        let mut levels: Vec<(u32, Level)> = choices
            .filter(|choice| self.sizes.is_empty() || self.sizes.contains(&(choice.count_ones() as usize)))
            .map(|choice| (choice, on_nodes(choice, &with_cpus)))
            .collect();
        levels.sort_by_key(|(choice, _)| (choice.count_ones(), *choice));
        Ok(levels.into_iter().map(|(_, level)| level).collect())
    }
}

/// The server on the nodes whose bits are set in `choice`.
fn on_nodes(choice: u32, nodes: &[(u32, CpuSet)]) -> Level {
    let chosen = nodes.iter().enumerate().filter(|(bit, _)| choice >> bit & 1 == 1).map(|(_, node)| node);
    let (ids, cpus) = chosen.fold((CpuSet::default(), CpuSet::default()), |(ids, cpus), (id, own)| {
        (ids.union(&CpuSet::single(*id)), cpus.union(own))
    });
    Level { server: Some(cpus), ..Level::named(format!("nodes {ids}")) }
}
