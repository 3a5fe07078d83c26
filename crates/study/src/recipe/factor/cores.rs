//! The server on a growing number of CPUs: a scaling curve.

use machine::wording::counted;
use machine::{Class, CpuSet, Fault, Machine};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::fill::Fill;
use super::kind::FactorKind;
use crate::fill;
use crate::levels::Level;

/// A factor of kind `cores`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cores {
    /// Numbers of CPUs; none: 1, 2, 3, 4, 6, 8, 12, 16 ... and all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub counts: Vec<usize>,
    /// Orders in which CPUs are taken, each with a curve of its own.
    #[serde(default = "cores_first")]
    pub fill: Vec<Fill>,
}

fn cores_first() -> Vec<Fill> {
    vec![Fill::CoresFirst]
}

impl FactorKind for Cores {
    fn name(&self) -> String {
        "cores".into()
    }

    fn named_levels(&self) -> usize {
        self.counts.len().saturating_mul(self.fill.len())
    }

    fn levels(&self, machine: &Machine, load: Option<&CpuSet>) -> Result<Vec<Level>, Fault> {
        let usable = machine.usable();
        let left = load.map_or(usable.clone(), |load| usable.difference(load));
        // A load that may run on every CPU takes none for itself, and one that other hosts drive is said to be anywhere.
        let within = if left.is_empty() { usable } else { left };
        let most = within.iter().count();
        let counts = match self.counts.is_empty() {
            true => usual_counts(most),
            false => self.counts.clone(),
        };
        if let Some(wrong) = counts.iter().find(|count| **count == 0 || **count > most) {
            return Err(Fault::new(
                Class::Usage,
                format!("factor cores: {wrong} CPUs"),
                format!("the server can have 1 to {most} here ({within})"),
                "choose other counts, or give the load fewer CPUs (baseline.load)",
            ));
        }
        let mut levels = Vec::new();
        for fill in &self.fill {
            let order = fill::order(*fill, machine, &within);
            for count in &counts {
                let server: CpuSet = order[..*count].iter().copied().collect();
                let cpus = counted(*count, "CPU");
                let name = match self.fill.len() {
                    1 => cpus,
                    _ => format!("{cpus}, {}", fill.word()),
                };
                levels.push(Level {
                    server: Some(server),
                    scale: Some((*fill, *count)),
                    ..Level::named(name)
                });
            }
        }
        Ok(levels)
    }
}

/// 1, 2, 3, 4, 6, 8, 12, 16, 24 ... and all: even on a log axis, and six values from 8 CPUs on.
fn usual_counts(most: usize) -> Vec<usize> {
    let steps =
        (0..).map(|i| 1usize << i).flat_map(|power| [power, power + power / 2]).take_while(|n| *n < most);
    let mut counts: Vec<usize> = steps.chain([most]).collect();
    counts.dedup();
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_counts_are_even_on_a_log_axis_and_end_with_all() {
        assert_eq!(usual_counts(1), [1]);
        assert_eq!(usual_counts(24), [1, 2, 3, 4, 6, 8, 12, 16, 24]);
    }
}
