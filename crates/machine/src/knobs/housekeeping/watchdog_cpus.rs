//! CPUs that the lockup detectors watch.

use crate::knobs::file::{FileKnob, Form, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "watchdog-cpus",
        title: "CPUs that the lockup detectors watch",
        docs: "Each watched CPU has a timer of its own every few seconds (soft lockups) and a counter \
               (hard lockups). Takes both off the CPUs of a server.",
        unit: "CPU list",
        scope: "the whole machine: target machine",
        owner: "the boot parameter nohz_full=, which leaves those CPUs out; tuned, systemd-sysctl \
                (sysctl.d)",
        owners: &[OwnerId::Tuned],
        risk: "A CPU that hangs is not noticed where nobody watches.",
        may_set: MaySet::Root,
        source: "Documentation/admin-guide/sysctl/kernel.rst (watchdog_cpumask); \
                 Documentation/admin-guide/lockup-watchdogs.rst",
    },
    places: Places::Machine("/proc/sys/kernel/watchdog_cpumask"),
    form: Form::CpuList,
};
