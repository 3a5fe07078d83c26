//! Plans: settings worth keeping, in order, each with its reason. A file that people write and read.

mod memory_policy;
mod placement;

use std::path::Path;

use serde::{Deserialize, Serialize};

pub use memory_policy::{MemoryMode, MemoryPolicy};
pub use placement::{Dose, Housekeeping, Neighbour, Placement, Setting};

use crate::{Class, Fault, untrusted};

/// The target of knobs that there is only one of: the machine itself.
pub const MACHINE: &str = "machine";

/// The target that stands for the server of a study; who applies the plan says which process that is.
pub const SERVER: &str = "server";

/// The knob by which a server is confined to CPUs.
pub const PIN: &str = "process-affinity";

/// The knob of what the boot loader passes to the kernel.
pub const BOOT_PARAMETERS: &str = "boot-parameters";

/// Settings that are to be kept.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// What it is for, in one line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub purpose: Option<String>,
    /// The case that it was made from; the folder's path when it was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub case: Option<String>,
    /// What it is expected to bring; `None` where that was not measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub predicted: Option<Predicted>,
    /// The settings, in the order in which they are made.
    #[serde(rename = "setting", default)]
    pub settings: Vec<Planned>,
}

/// The gain that a plan is expected to bring, as its study measured it: `pinwise verify` sets what came out beside it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Predicted {
    /// What was compared: `requests_per_s`.
    pub metric: String,
    /// With the plan, divided by before.
    pub ratio: f64,
    /// Lower end of the interval of the ratio; `None` where there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub low: Option<f64>,
    /// Its upper end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub high: Option<f64>,
    /// The arm that it was measured on.
    pub arm: String,
}

/// One setting with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Planned {
    /// The knob's id, as `pinwise list knobs` prints it.
    pub knob: String,
    /// What it is set for: an IRQ number, `eth0/rx-0`, a process number, `server`; [`MACHINE`] where there is only one.
    #[serde(default = "machine")]
    pub target: String,
    /// The value, in the knob's own text form.
    pub value: String,
    /// What it was when the plan was made.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<String>,
    /// Why, for those who read the plan later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// What was measured in favour of it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<String>,
}

fn machine() -> String {
    MACHINE.into()
}

impl Planned {
    /// The setting alone.
    pub fn setting(&self) -> Setting {
        Setting { knob: self.knob.clone(), target: self.target.clone(), value: self.value.clone() }
    }
}

impl Plan {
    /// Reads a plan file.
    ///
    /// # Errors
    /// When the file cannot be read, is malformed (with line and column), or has no setting.
    pub fn read(path: &Path) -> Result<Self, Fault> {
        let text = untrusted::file::read_text(path, MOST_BYTES)
            .map_err(|e| Fault::io(path.display(), &e, "name a plan file that can be read"))?;
        Self::parse(&text).map_err(|why| Fault::new(Class::Usage, path.display(), why, REMEDY))
    }

    /// Reads the text of a plan. Errors: what is wrong with it, with line and column.
    pub fn parse(text: &str) -> Result<Self, String> {
        let plan: Self = toml::from_str(text).map_err(|e| e.to_string().trim().to_string())?;
        match plan.settings.is_empty() {
            true => Err("has no [[setting]]: there is nothing to do".into()),
            false => Ok(plan),
        }
    }

    /// The text of its file.
    ///
    /// # Errors
    /// None that is known: a plan holds nothing that TOML could not say.
    pub fn to_toml(&self) -> Result<String, Fault> {
        toml::to_string(self).map_err(|e| Fault::new(Class::Storage, "plan", e, crate::IS_A_BUG))
    }
}

/// A setting takes some hundred bytes, and a machine of 4096 CPUs has some 100,000. A plan may come out of a pipe.
const MOST_BYTES: u64 = 64 << 20;

const REMEDY: &str = "see docs/apply.md for the form of a plan, and 'pinwise list knobs' for what can be set";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_again() {
        let text = "purpose = \"a quiet CPU\"\n[[setting]]\nknob = \"swappiness\"\nvalue = \"1\"\nreason = \"why\"\n\
                    [[setting]]\nknob = \"irq-affinity\"\ntarget = \"38\"\nvalue = \"0\"\nbefore = \"0-1\"\n";
        let plan = Plan::parse(text).unwrap();
        assert_eq!(plan.settings[0].target, MACHINE);
        assert_eq!(plan.settings[1].setting().target, "38");
        assert_eq!(Plan::parse(&plan.to_toml().unwrap()).unwrap(), plan);
    }

    #[test]
    fn what_is_predicted_is_written_and_read_again() {
        let predicted = Predicted {
            metric: "requests_per_s".into(),
            ratio: 1.12,
            low: Some(1.08),
            high: Some(1.15),
            arm: "cpu 1".into(),
        };
        let setting = Planned { knob: "a".into(), value: "1".into(), ..Planned::default() };
        let plan = Plan { predicted: Some(predicted), settings: vec![setting], ..Plan::default() };
        assert_eq!(Plan::parse(&plan.to_toml().unwrap()).unwrap(), plan);
    }

    #[test]
    fn what_is_malformed_is_reported_with_its_place() {
        let cases = [
            ("", "nothing to do"),
            ("[[setting]]\nknob = \"a\"\n", "value"),
            ("[[setting]]\nknob = \"a\"\nvalue = 3\n", "line 3"),
            ("[[setting]]\nknob = \"a\"\nvalue = \"3\"\nrisk = \"\"\n", "risk"),
        ];
        for (text, why) in cases {
            let told = Plan::parse(text).unwrap_err();
            assert!(told.contains(why), "{told}");
        }
        assert!(Plan::read(Path::new("/nowhere/plan.toml")).is_err());
        let endless = Plan::read(Path::new("/dev/zero")).unwrap_err();
        assert!(endless.cause.contains("longer than"), "{endless}");
    }
}
