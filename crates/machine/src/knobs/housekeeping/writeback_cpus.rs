//! CPUs that write dirty pages back.

use crate::knobs::file::{FileKnob, Form, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "writeback-cpus",
        title: "CPUs that write dirty pages back",
        docs: "Where the kernel's writeback threads (kworker/u-flush) may run, within workqueue-cpus. They \
               scan lists and may hold locks of the filesystem for milliseconds.",
        unit: "CPU list",
        scope: "the whole machine: target machine",
        owner: "tuned (profiles cpu-partitioning and realtime), tuna",
        owners: &[OwnerId::Tuned, OwnerId::Tuna],
        risk: "Writing to disk is as fast as these CPUs are. The kernel uses all of workqueue-cpus where \
               the two have no CPU in common.",
        may_set: MaySet::Root,
        source: "Documentation/core-api/workqueue.rst (WQ_SYSFS); mm/backing-dev.c (bdi_wq)",
    },
    places: Places::Machine("/sys/devices/virtual/workqueue/writeback/cpumask"),
    form: Form::CpuMask { may_be_empty: false },
};
