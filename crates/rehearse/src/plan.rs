//! A plan that needs a reboot, tried in a guest: booted before, with and after it, and judged by the kernel's own word.

pub mod conclusion;
mod facts;
pub mod verdict;

use std::path::Path;

use machine::kernel::boot;
use machine::{Class, CpuSet, Fault, Machine};
use serde::{Deserialize, Serialize};

/// The knob of boot parameters.
pub const BOOT_PARAMETERS: &str = "boot-parameters";

/// Settings that are to be kept, as a file says them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The settings, in the order in which they are made.
    #[serde(rename = "setting")]
    pub settings: Vec<Planned>,
}

/// One setting with its reason.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Planned {
    /// Which knob: `boot-parameters`.
    pub knob: String,
    /// What it is set for; boot parameters have one target, `kernel`.
    #[serde(default = "kernel")]
    pub target: String,
    /// The value: for boot parameters, words of a command line.
    pub value: String,
    /// Why, for those who read the plan later.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

fn kernel() -> String {
    "kernel".into()
}

impl Plan {
    /// Reads a plan.
    ///
    /// # Errors
    /// When the file cannot be read, is malformed (with line and column), has nothing that a rehearsal can try, or
    /// settings of knobs that it cannot try yet.
    pub fn read(path: &Path) -> Result<Self, Fault> {
        let text = std::fs::read_to_string(path)
            .map_err(|e| Fault::io(path.display(), &e, "name a plan file that can be read"))?;
        let malformed = |why: &str| {
            Fault::new(Class::Usage, path.display(), why, "see docs/rehearse.md for the form of a plan")
        };
        let plan: Self = toml::from_str(&text).map_err(|e| malformed(e.to_string().trim()))?;
        if let Some(other) = plan.settings.iter().find(|setting| setting.knob != BOOT_PARAMETERS) {
            return Err(malformed(&format!(
                "knob {}: a rehearsal tries {BOOT_PARAMETERS} alone so far",
                other.knob
            )));
        }
        if plan.parameters().is_empty() {
            return Err(malformed("has no boot parameters: there is nothing to try"));
        }
        Ok(plan)
    }

    /// All boot parameters, as one command line.
    pub fn parameters(&self) -> String {
        let values = self.settings.iter().filter(|setting| setting.knob == BOOT_PARAMETERS);
        values
            .map(|setting| setting.value.trim())
            .filter(|value| !value.is_empty())
            .collect::<Vec<_>>()
            .join(" ")
    }

    /// Names of its boot parameters.
    pub fn names(&self) -> Vec<String> {
        let words = boot::words(&self.parameters());
        words.iter().map(|word| word.split('=').next().unwrap_or(word).to_string()).collect()
    }
}

/// CPUs whose tick is counted while something spins on them: some without a tick, and one ordinary CPU as the control
/// that shows that ticks are seen at all. `None` when the machine has no CPU of either kind.
pub fn tick_trial(machine: &Machine) -> Option<TickTrial> {
    let without = machine.kernel.nohz_full.clone()?.intersection(&machine.online());
    let apart = without.union(&machine.kernel.isolated.clone().unwrap_or_default());
    // The timekeeping CPU keeps its tick for the others; it is often CPU 0.
    let control = machine.online().difference(&apart).last()?;
    let ends = [without.first()?, without.last()?];
    Some(TickTrial { without: ends.into_iter().collect(), control })
}

/// See [`tick_trial`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TickTrial {
    /// CPUs of nohz_full.
    pub without: CpuSet,
    /// An ordinary CPU.
    pub control: u32,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Plan, Fault> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan.toml");
        std::fs::write(&path, text).unwrap();
        Plan::read(&path)
    }

    #[test]
    fn parameters_of_all_settings_are_joined() {
        let plan = read(
            "[[setting]]\nknob = 'boot-parameters'\nvalue = 'isolcpus=2-3'\nreason = 'quiet'\n\
                         [[setting]]\nknob = 'boot-parameters'\nvalue = ' nohz_full=2-3 nosmt '\n",
        )
        .unwrap();
        assert_eq!(plan.parameters(), "isolcpus=2-3 nohz_full=2-3 nosmt");
        assert_eq!(plan.names(), ["isolcpus", "nohz_full", "nosmt"]);
    }

    #[test]
    fn what_cannot_be_tried_is_told() {
        assert!(
            read("[[setting]]\nknob = 'irq-affinity'\nvalue = '1'")
                .unwrap_err()
                .cause
                .contains("irq-affinity")
        );
        assert!(read("setting = []").unwrap_err().cause.contains("nothing to try"));
        assert!(read("[[setting]]\nknob = 3").unwrap_err().cause.contains("line 2"));
        assert!(Plan::read(Path::new("/nowhere/plan.toml")).is_err());
    }

    #[test]
    fn a_cpu_of_each_kind_is_needed_for_the_trial_of_ticks() {
        let mut machine = Machine::default();
        let cpu = |id| machine::topology::cpus::Cpu { id, online: true, ..Default::default() };
        machine.cpus = (0..6).map(cpu).collect();
        assert_eq!(tick_trial(&machine), None);
        machine.kernel.nohz_full = Some([3, 4, 5].into_iter().collect());
        machine.kernel.isolated = Some([2].into_iter().collect());
        let trial = tick_trial(&machine).unwrap();
        assert_eq!((trial.without.to_list(), trial.control), ("3,5".to_string(), 1));
        machine.kernel.nohz_full = Some((0..6).collect());
        assert_eq!(tick_trial(&machine), None);
    }
}
