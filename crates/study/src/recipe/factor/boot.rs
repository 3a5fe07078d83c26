//! Words on the kernel's command line: trials under kernels that were booted with them.

use machine::kernel::boot;
use machine::{Class, CpuSet, Fault, Machine};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::FactorKind;
use crate::levels::Level;
use crate::recipe::place::boot_title;

/// A factor of kind `boot`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Boot {
    /// Name of the factor.
    #[serde(default = "boot_name")]
    pub name: String,
    /// The words.
    pub levels: Vec<BootLevel>,
}

/// Words that the boot loader passes to the kernel beside those of the machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BootLevel {
    /// Name in tables; without one it is made from the words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The words, apart by blanks; none: as the machine boots by itself.
    pub words: String,
}

fn boot_name() -> String {
    "boot".into()
}

impl FactorKind for Boot {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn named_levels(&self) -> usize {
        self.levels.len()
    }

    fn levels(&self, _machine: &Machine, _load: Option<&CpuSet>) -> Result<Vec<Level>, Fault> {
        Ok(self.levels.iter().map(booted).collect())
    }

    /// Levels with the same words would share their boots, and so be one.
    fn check_levels(&self, levels: &[Level]) -> Result<(), Fault> {
        for (i, level) in levels.iter().enumerate() {
            if let Some(earlier) = levels[..i].iter().find(|earlier| earlier.boot == level.boot) {
                let cause = format!("'{}' and '{}' have the same words", earlier.name, level.name);
                let remedy = "leave one out: the baseline's words are booted twice in each block anyway";
                return Err(Fault::new(Class::Usage, format!("factor {}", self.name), cause, remedy));
            }
        }
        Ok(())
    }
}

fn booted(level: &BootLevel) -> Level {
    let name = level.name.clone().unwrap_or_else(|| boot_title(&level.words));
    Level { boot: Some(boot::words(&level.words)), ..Level::named(name) }
}
