//! How long poll and select look at the network card before they sleep.

use crate::knobs::file::{Bound, FileKnob, Form, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "busy-poll",
        title: "How long poll and select look at the network card before they sleep",
        docs: "A program that waits in poll(2), select(2) or epoll looks at the card's queue by itself for \
               that long: no interrupt and no wake-up then. Lowers latency by some microseconds and burns \
               the CPU while it waits.",
        unit: "us; 0: off. 50 is recommended",
        scope: "the whole machine: target machine",
        owner: "systemd-sysctl (sysctl.d), tuned (profile network-latency sets 50)",
        owners: &[OwnerId::Tuned],
        risk: "CPU time and power go up with the number of waiting threads; on a busy CPU it takes time \
               from others. Needs a driver with NAPI identities.",
        may_set: MaySet::Root,
        source: "Documentation/admin-guide/sysctl/net.rst; Documentation/networking/napi.rst",
    },
    places: Places::Machine("/proc/sys/net/core/busy_poll"),
    form: Form::Number { least: Bound::Is(0), most: Bound::Is(2147483647), words: &[] },
};
