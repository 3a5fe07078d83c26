//! Lowest clock of a CPU.

use crate::knobs::file::{Bound, FileKnob, Form, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "frequency-min",
        title: "Lowest clock of a CPU",
        docs: "Raising it keeps the clock up when load comes in bursts. The same number as frequency-max \
               holds it still, which makes measurements even.",
        unit: "kHz, within cpuinfo_min_freq and cpuinfo_max_freq",
        scope: "one frequency policy, CPUs whose clock changes together: policyN",
        owner: "tuned, TLP, auto-cpufreq, cpupower.service, thermald, power-profiles-daemon (through the governor)",
        owners: &[OwnerId::Tuned, OwnerId::Thermald, OwnerId::PowerProfilesDaemon, OwnerId::AutoCpufreq],
        risk: "Power and heat. Drivers round to a clock that they have; above frequency-max it does not \
               count. Firmware may go below it all the same.",
        may_set: MaySet::Root,
        source: "Documentation/admin-guide/pm/cpufreq.rst (scaling_min_freq)",
    },
    places: Places::EachPolicy("scaling_min_freq"),
    form: Form::Number {
        least: Bound::Beside("cpuinfo_min_freq"),
        most: Bound::Beside("cpuinfo_max_freq"),
        words: &[],
    },
};
