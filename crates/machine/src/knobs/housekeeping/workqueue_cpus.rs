//! CPUs of the kernel's unbound work.

use crate::knobs::file::{FileKnob, Form, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "workqueue-cpus",
        title: "CPUs of the kernel's unbound work",
        docs: "Where kworker/u threads may run: writeback, filesystems, memory cgroups, device probing. \
               Keeps that work off the CPUs of a server without isolcpus.",
        unit: "CPU list",
        scope: "the whole machine: target machine",
        owner: "tuned (isolated_cores), the boot parameters workqueue.unbound_cpus=, isolcpus= and \
                nohz_full=, tuna",
        owners: &[OwnerId::Tuned, OwnerId::Tuna],
        risk: "Work that is bound to a CPU stays. Too few CPUs make the disk wait for them.",
        may_set: MaySet::Root,
        source: "Documentation/core-api/workqueue.rst; \
                 Documentation/ABI/testing/sysfs-devices-virtual-workqueue (cpumask)",
    },
    places: Places::Machine("/sys/devices/virtual/workqueue/cpumask"),
    form: Form::CpuMask { may_be_empty: false },
};
