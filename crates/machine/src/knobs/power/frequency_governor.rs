//! Who chooses the clock of a CPU.

use crate::knobs::file::{FileKnob, Form, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "frequency-governor",
        title: "Who chooses the clock of a CPU",
        docs: "performance keeps the clock at its highest, powersave at its lowest (with intel_pstate and \
               amd_pstate active both leave the choice to the CPU, within the limits), schedutil and \
               ondemand follow the load and are late by some milliseconds.",
        unit: "a word of scaling_available_governors",
        scope: "one frequency policy, CPUs whose clock changes together: policyN",
        owner: "tuned, power-profiles-daemon, TLP, auto-cpufreq, cpupower.service, laptop-mode-tools, thermald",
        owners: &[OwnerId::Tuned, OwnerId::PowerProfilesDaemon, OwnerId::Thermald, OwnerId::AutoCpufreq],
        risk: "Power and heat. Setting performance makes intel_pstate set the energy preference of the \
               policy too; it comes back with the former governor.",
        may_set: MaySet::Root,
        source: "Documentation/admin-guide/pm/cpufreq.rst",
    },
    places: Places::EachPolicy("scaling_governor"),
    form: Form::Choice("scaling_available_governors"),
};
