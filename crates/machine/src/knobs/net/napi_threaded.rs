//! Receive work of a card in threads of its own.

use crate::knobs::file::{FileKnob, ON_OFF, Places};
use crate::knobs::{About, MaySet};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "napi-threaded",
        title: "Receive work of a card in threads of its own",
        docs: "Each queue's work is done by a kernel thread (napi/INTERFACE-N) in place of the softirq of \
               the interrupt's CPU. Threads can be placed, ranked and seen in top; softirqs cannot.",
        unit: "on or off",
        scope: "one network interface: INTERFACE, or NETNS:INTERFACE in a network namespace",
        owner: "udev rules, NetworkManager dispatcher scripts; a few drivers switch it on themselves \
                (mt76)",
        owners: &[],
        risk: "The threads run anywhere until they are placed, and cost a wake-up a round. What was placed \
               is lost with the threads when it is switched off. Devices without NAPI (loopback, dummy) \
               refuse it.",
        may_set: MaySet::Root,
        source: "Documentation/networking/napi.rst; Documentation/ABI/testing/sysfs-class-net",
    },
    places: Places::EachInterface("threaded"),
    form: ON_OFF,
};
