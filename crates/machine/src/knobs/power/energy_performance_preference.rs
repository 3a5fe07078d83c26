//! What a CPU that chooses its own clock is to favour.

use crate::knobs::file::{FileKnob, Form, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "energy-performance-preference",
        title: "What a CPU that chooses its own clock is to favour",
        docs: "A hint to the hardware (HWP, CPPC): performance raises the clock sooner and holds it \
               longer.",
        unit: "a word of energy_performance_available_preferences",
        scope: "one frequency policy, CPUs whose clock changes together: policyN",
        owner: "tuned, power-profiles-daemon, TLP, auto-cpufreq, thermald; firmware (BIOS energy bias)",
        owners: &[OwnerId::Tuned, OwnerId::PowerProfilesDaemon, OwnerId::Thermald, OwnerId::AutoCpufreq],
        risk: "The kernel refuses other words (EBUSY) while the governor is performance. A number that \
               firmware had set is put back only where the driver takes numbers (intel_pstate with HWP).",
        may_set: MaySet::Root,
        source: "Documentation/admin-guide/pm/intel_pstate.rst, amd-pstate.rst",
    },
    places: Places::EachPolicy("energy_performance_preference"),
    form: Form::Choice("energy_performance_available_preferences"),
};
