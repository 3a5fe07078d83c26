//! Placements: where a server, its load and their surroundings are to be.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{CpuSet, MemoryPolicy};

/// One knob at one value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Setting {
    /// The knob's id, as `pinwise list knobs` prints it.
    pub knob: String,
    /// Which object of that knob: an IRQ number, `eth0/rx-0`, ...
    pub target: String,
    /// The value, in the knob's own text form.
    pub value: String,
}

impl Setting {
    /// Whether both are about the same knob of the same target, whatever their values.
    pub fn same_object(&self, other: &Self) -> bool {
        self.knob == other.knob && self.target == other.target
    }

    /// What it is about, in words: `irq-affinity of 38`.
    pub fn object(&self) -> String {
        format!("{} of {}", self.knob, self.target)
    }
}

/// A command that runs beside the server for the length of a trial: a batch job, a logger, a deliberate disturbance.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Neighbour {
    /// Command line; `{cpu}` and `{cpus}` stand for where it runs.
    pub command: String,
    /// CPUs that it is pinned to.
    pub cpus: CpuSet,
}

/// The positive control of a study: a thief of pinwise's own that takes a known share of the time of each of these CPUs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dose {
    /// CPUs that it takes time of.
    pub cpus: CpuSet,
    /// Share of each CPU that it asks for, in thousandths: 200 is 20 %. What it gets is read from the kernel.
    pub share_permille: u16,
}

impl Dose {
    /// The share that it asks for, 0 to 1.
    pub fn share(&self) -> f64 {
        f64::from(self.share_permille) / 1e3
    }
}

/// The kernel's own work, moved as far as the kernel lets it be moved: what it refuses stays where it is, and each trial says so.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Housekeeping {
    /// CPUs that it is moved to.
    pub cpus: CpuSet,
    /// What that comes to on the machine of the study; empty until somebody has looked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Setting>,
}

/// Where things are to run: a set of knob = value, for a server and its surroundings.
///
/// The CPUs of the server and the load have fields of their own because every study sets them;
/// `None` means that the kernel may choose.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Placement {
    /// CPUs for the server's process tree.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_cpus: Option<CpuSet>,
    /// CPUs for the load generator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_cpus: Option<CpuSet>,
    /// Where the server's memory comes from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<MemoryPolicy>,
    /// Everything else that is set for the length of the trial.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub settings: Vec<Setting>,
    /// Where the kernel's own work is to be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub housekeeping: Option<Housekeeping>,
    /// What runs beside the server.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub neighbours: Vec<Neighbour>,
    /// The thief that takes a known share of the server's CPUs, of the arm that is the positive control.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dose: Option<Dose>,
    /// Words on the kernel's command line beside those that the machine boots with by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub boot_words: Vec<String>,
}

impl Placement {
    /// Everything that is set: what has to hold, then what moves the kernel's own work.
    pub fn all_settings(&self) -> impl Iterator<Item = &Setting> {
        let moved = self.housekeeping.iter().flat_map(|moved| &moved.settings);
        self.settings.iter().chain(moved.filter(|setting| !self.sets(setting)))
    }

    /// Whether it says itself what this knob of this target is to be: then the kernel's own work leaves that alone.
    pub fn sets(&self, setting: &Setting) -> bool {
        self.settings.iter().any(|own| own.same_object(setting))
    }

    /// Sets these, in the place of what was set of the same objects.
    pub fn set(&mut self, settings: &[Setting]) {
        self.settings.retain(|old| !settings.iter().any(|new| old.same_object(new)));
        self.settings.extend(settings.iter().cloned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn setting(target: &str, value: &str) -> Setting {
        Setting { knob: "irq-affinity".into(), target: target.into(), value: value.into() }
    }

    #[test]
    fn the_kernels_own_work_leaves_alone_what_is_set_by_name() {
        let settings = vec![setting("38", "0"), setting("39", "0")];
        let placement = Placement {
            settings: vec![setting("38", "1")],
            housekeeping: Some(Housekeeping { cpus: CpuSet::single(0), settings }),
            ..Placement::default()
        };
        let all: Vec<&Setting> = placement.all_settings().collect();
        assert_eq!(all, [&setting("38", "1"), &setting("39", "0")]);
    }
}
