//! Time that real-time threads may take of each period.

use crate::knobs::file::{Bound, FileKnob, Form, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "rt-runtime",
        title: "Time that real-time threads may take of each period",
        docs: "Of each sched_rt_period_us (1 s) real-time threads get that much of a CPU and the rest is \
               left for others, so that a spinning one does not lock the machine up. -1 takes the limit \
               away.",
        unit: "us, up to sched_rt_period_us; -1: no limit",
        scope: "the whole machine: target machine",
        owner: "systemd-sysctl (sysctl.d), tuned (profile realtime: -1)",
        owners: &[OwnerId::Tuned],
        risk: "With -1 a real-time thread that spins takes its CPU for good, kernel threads included. \
               Below 950000 real-time programs stall for the rest of each period. Refused where deadline \
               threads or RT groups have been promised more.",
        may_set: MaySet::Root,
        source: "Documentation/scheduler/sched-rt-group.rst; sched(7)",
    },
    places: Places::Machine("/proc/sys/kernel/sched_rt_runtime_us"),
    form: Form::Number { least: Bound::Is(-1), most: Bound::Beside("sched_rt_period_us"), words: &[] },
};
