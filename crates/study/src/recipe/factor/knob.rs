//! A knob at several values.

use machine::plan::MACHINE;
use machine::{CpuSet, Fault, Machine, Setting};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::kind::FactorKind;
use crate::levels::Level;
use crate::recipe::place::setting_title;

/// A factor of kind `knob`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Knob {
    /// Its id.
    pub knob: String,
    /// Which of its objects; `server` for the server's process; none where there is only one.
    #[serde(default = "machine")]
    pub target: String,
    /// Values in the knob's own form.
    pub values: Vec<String>,
}

fn machine() -> String {
    MACHINE.into()
}

impl FactorKind for Knob {
    fn name(&self) -> String {
        match self.target == MACHINE {
            true => self.knob.clone(),
            false => format!("{} of {}", self.knob, self.target),
        }
    }

    fn named_levels(&self) -> usize {
        self.values.len()
    }

    fn levels(&self, _machine: &Machine, _load: Option<&CpuSet>) -> Result<Vec<Level>, Fault> {
        let level = |value: &String| {
            let setting =
                Setting { knob: self.knob.clone(), target: self.target.clone(), value: value.clone() };
            Level { settings: vec![setting], ..Level::named(setting_title(&self.knob, &self.target, value)) }
        };
        Ok(self.values.iter().map(level).collect())
    }
}
