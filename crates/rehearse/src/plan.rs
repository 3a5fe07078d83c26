//! A plan that needs a reboot, tried in a guest: booted before, with and after it, and judged by the kernel's own word.

pub mod conclusion;
mod facts;
pub mod verdict;

use std::path::Path;

use machine::kernel::boot;
use machine::plan::BOOT_PARAMETERS;
use machine::{Class, CpuSet, Fault, Machine, Plan, Planned};
use serde::Serialize;

/// The boot parameters of a plan, which are what a rehearsal tries.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct BootParameters {
    /// All of them, as one command line.
    #[serde(skip)]
    pub words: String,
    /// The settings that they come from.
    #[serde(rename = "setting")]
    pub settings: Vec<Planned>,
}

impl BootParameters {
    /// Reads a plan.
    ///
    /// # Errors
    /// As [`Plan::read`]; and when it has nothing that a rehearsal can try, or settings of knobs that it cannot try yet.
    pub fn read(path: &Path) -> Result<Self, Fault> {
        let plan = Plan::read(path)?;
        let refused = |why: &str| {
            Fault::new(Class::Usage, path.display(), why, "see docs/rehearse.md for the form of a plan")
        };
        if let Some(other) = plan.settings.iter().find(|setting| setting.knob != BOOT_PARAMETERS) {
            return Err(refused(&format!(
                "knob {}: a rehearsal tries {BOOT_PARAMETERS} alone so far",
                other.knob
            )));
        }
        let values = plan.settings.iter().map(|setting| setting.value.trim());
        let words = values.filter(|value| !value.is_empty()).collect::<Vec<_>>().join(" ");
        match words.is_empty() {
            true => Err(refused("has no boot parameters: there is nothing to try")),
            false => Ok(Self { words, settings: plan.settings }),
        }
    }

    /// Names of the parameters.
    pub fn names(&self) -> Vec<String> {
        let words = boot::words(&self.words);
        words.iter().map(|word| word.split('=').next().unwrap_or(word).to_string()).collect()
    }
}

/// CPUs whose tick is counted while something spins on them: some without a tick, and one ordinary CPU as the control
/// that shows that ticks are seen at all. `None` when the machine has no CPU of either kind.
pub fn tick_trial(machine: &Machine) -> Option<TickTrial> {
    let without = machine.kernel.nohz_full.clone()?.intersection(&machine.online());
    let apart = without.union(&machine.isolated().unwrap_or_default());
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

    fn read(text: &str) -> Result<BootParameters, Fault> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan.toml");
        std::fs::write(&path, text).unwrap();
        BootParameters::read(&path)
    }

    #[test]
    fn parameters_of_all_settings_are_joined() {
        let plan = read(
            "[[setting]]\nknob = 'boot-parameters'\nvalue = 'isolcpus=2-3'\nreason = 'quiet'\n\
                         [[setting]]\nknob = 'boot-parameters'\nvalue = ' nohz_full=2-3 nosmt '\n",
        )
        .unwrap();
        assert_eq!(plan.words, "isolcpus=2-3 nohz_full=2-3 nosmt");
        assert_eq!(plan.names(), ["isolcpus", "nohz_full", "nosmt"]);
    }

    #[test]
    fn what_cannot_be_tried_is_reported() {
        assert!(
            read("[[setting]]\nknob = 'irq-affinity'\nvalue = '1'")
                .unwrap_err()
                .cause
                .contains("irq-affinity")
        );
        assert!(read("setting = []").unwrap_err().cause.contains("nothing to do"));
        assert!(read("[[setting]]\nknob = 3").unwrap_err().cause.contains("line 2"));
        assert!(BootParameters::read(Path::new("/nowhere/plan.toml")).is_err());
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
