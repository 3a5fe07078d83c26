//! Packets that one round of receive work may take.

use crate::knobs::file::{Bound, FileKnob, Form, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "netdev-budget",
        title: "Packets that one round of receive work may take",
        docs: "The receive softirq goes on until it has taken so many packets, or netdev-budget-us is \
               over, and comes back later. When the third column of /proc/net/softnet_stat grows, rounds \
               ended with work left.",
        unit: "packets, at least 1",
        scope: "the whole machine: target machine",
        owner: "systemd-sysctl (sysctl.d), tuned ([sysctl] of profiles)",
        owners: &[OwnerId::Tuned],
        risk: "A longer round holds the CPU for longer: whatever else runs there waits, also real-time \
               threads.",
        may_set: MaySet::Root,
        source: "Documentation/admin-guide/sysctl/net.rst; net/core/dev.c (net_rx_action)",
    },
    places: Places::Machine("/proc/sys/net/core/netdev_budget"),
    form: Form::Number { least: Bound::Is(1), most: Bound::Is(2147483647), words: &[] },
};
