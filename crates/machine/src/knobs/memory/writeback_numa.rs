//! Whether writeback stays on the node that asked for it.

use crate::knobs::file::{FileKnob, ON_OFF, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "writeback-numa",
        title: "Whether writeback stays on the node that asked for it",
        docs: "On, a node's dirty pages are written back by CPUs of that node. Off, any CPU of \
               writeback-cpus may do it, which matters when they are all of one node.",
        unit: "on or off",
        scope: "the whole machine: target machine",
        owner: "tuned ([sysfs] of profiles), start scripts of real-time systems",
        owners: &[OwnerId::Tuned],
        risk: "Kernels from 6.5 on have affinity_scope in its place and lack the file.",
        may_set: MaySet::Root,
        source: "Documentation/core-api/workqueue.rst before Linux 6.5 (numa)",
    },
    places: Places::Machine("/sys/devices/virtual/workqueue/writeback/numa"),
    form: ON_OFF,
};
