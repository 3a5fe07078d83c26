//! Whether the kernel moves memory to the node that uses it.

use crate::knobs::file::{FileKnob, Form, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "numa-balancing",
        title: "Whether the kernel moves memory to the node that uses it",
        docs: "The kernel unmaps pages of each process now and then, sees by the faults from where they \
               are used, and moves pages or threads. Helps what is not placed; costs faults and moves for \
               what is.",
        unit: "off, on, tiering (moves hot pages up from slow memory), on+tiering",
        scope: "the whole machine: target machine",
        owner: "the boot parameter numa_balancing=, tuned (profiles network-latency, sap-hana and \
                cpu-partitioning switch it off), systemd-sysctl (sysctl.d), numad",
        owners: &[OwnerId::Tuned, OwnerId::Numad],
        risk: "Off, memory that lies far stays far. On, faults come in bursts of some 100 us. tiering is \
               refused before Linux 5.18.",
        may_set: MaySet::Root,
        source: "Documentation/admin-guide/sysctl/kernel.rst (numa_balancing)",
    },
    places: Places::Machine("/proc/sys/kernel/numa_balancing"),
    form: Form::Codes(&[("off", "0"), ("on", "1"), ("tiering", "2"), ("on+tiering", "3")]),
};
