//! How long a CPU may take to wake from idle.

use crate::knobs::file::{Bound, FileKnob, Form, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "cpu-resume-latency",
        title: "How long a CPU may take to wake from idle",
        docs: "The idle governor chooses no state of this CPU that takes longer to leave. The gentle way \
               to keep the CPUs of a server awake, CPU by CPU and without a process that holds \
               /dev/cpu_dma_latency open.",
        unit: "us; 0: no state but polling; unlimited: no limit",
        scope: "one CPU: cpuN",
        owner: "tuned ([cpu] pm_qos_resume_latency_us), CRI-O (cpu-c-states.crio.io)",
        owners: &[OwnerId::Tuned, OwnerId::CriO],
        risk: "Power and heat go up and may cost the neighbours their turbo; an SMT sibling that polls \
               takes time from the other one. In a guest without idle states it does nothing.",
        may_set: MaySet::Root,
        source: "Documentation/ABI/testing/sysfs-devices-power (pm_qos_resume_latency_us, where 'n/a' is \
                 none at all and 0 no limit)",
    },
    places: Places::EachCpu("power/pm_qos_resume_latency_us"),
    form: Form::Number {
        least: Bound::Is(1),
        most: Bound::Is(i32::MAX as i64 - 1),
        words: &[("unlimited", "0"), ("0", "n/a")],
    },
};
