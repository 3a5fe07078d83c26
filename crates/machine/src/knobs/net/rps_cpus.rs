//! CPUs that do the protocol work of a receive queue.

use crate::knobs::file::{FileKnob, Form, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "rps-cpus",
        title: "CPUs that do the protocol work of a receive queue",
        docs: "The interrupt's CPU hands each flow's packets to one of these CPUs, by inter-processor \
               interrupt, and that CPU runs the network stack for them. It spreads the load of a card with \
               few queues - and takes a good part of a CPU away from a server that runs on one of them.",
        unit: "CPU list; empty: off",
        scope: "one receive queue: INTERFACE/rx-N, or NETNS:INTERFACE/rx-N in a network namespace",
        owner: "tuned, NetworkManager dispatcher scripts, udev rules, vendors' tuning scripts \
                (set_irq_affinity)",
        owners: &[OwnerId::Tuned],
        risk: "Receive work moves at once, packets of a flow may arrive out of order for a moment. Gone \
               with the interface.",
        may_set: MaySet::Root,
        source: "Documentation/networking/scaling.rst; net/core/net-sysfs.c (rps_cpus)",
    },
    places: Places::EachQueue { kind: "rx", file: "rps_cpus" },
    form: Form::CpuMask { may_be_empty: true },
};
