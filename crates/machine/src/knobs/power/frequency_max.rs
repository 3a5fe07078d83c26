//! Highest clock of a CPU.

use crate::knobs::file::{Bound, FileKnob, Form, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "frequency-max",
        title: "Highest clock of a CPU",
        docs: "Lowering it below the turbo range makes the clock independent of the neighbours: slower, \
               and even.",
        unit: "kHz, within cpuinfo_min_freq and cpuinfo_max_freq",
        scope: "one frequency policy, CPUs whose clock changes together: policyN",
        owner: "tuned, TLP, auto-cpufreq, cpupower.service, thermald (which lowers it when hot), power-profiles-daemon",
        owners: &[OwnerId::Tuned, OwnerId::Thermald, OwnerId::PowerProfilesDaemon, OwnerId::AutoCpufreq],
        risk: "Everything on these CPUs becomes slower. Drivers round to a clock that they have; thermald \
               and firmware may lower it further.",
        may_set: MaySet::Root,
        source: "Documentation/admin-guide/pm/cpufreq.rst (scaling_max_freq)",
    },
    places: Places::EachPolicy("scaling_max_freq"),
    form: Form::Number {
        least: Bound::Beside("cpuinfo_min_freq"),
        most: Bound::Beside("cpuinfo_max_freq"),
        words: &[],
    },
};
