//! Flows that a receive queue remembers the CPU of.

use crate::knobs::file::{FileKnob, Form, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "rps-flow-count",
        title: "Flows that a receive queue remembers the CPU of",
        docs: "Receive flow steering of one queue: packets of a flow are handed to the CPU on which the \
               program last read from it, so that its data is in that CPU's cache. Works only where \
               rps-sock-flow-entries is set too, and only with rps-cpus set or a card that steers by \
               itself (ntuple).",
        unit: "entries: 0 (off) or a power of two; usually rps-sock-flow-entries divided by the number of \
               queues",
        scope: "one receive queue: INTERFACE/rx-N, or NETNS:INTERFACE/rx-N in a network namespace",
        owner: "tuned, udev rules, NetworkManager dispatcher scripts, vendors' tuning scripts",
        owners: &[OwnerId::Tuned],
        risk: "Costs a little memory a queue. A program whose threads hop between CPUs drags its packets \
               along. Gone with the interface.",
        may_set: MaySet::Root,
        source: "Documentation/networking/scaling.rst; net/core/net-sysfs.c (rps_flow_cnt)",
    },
    places: Places::EachQueue { kind: "rx", file: "rps_flow_cnt" },
    form: Form::PowerOfTwo { most: 1 << 29 },
};
