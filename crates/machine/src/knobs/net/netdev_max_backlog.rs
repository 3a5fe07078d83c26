//! Packets that may wait for the protocol work of a CPU.

use crate::knobs::file::{Bound, FileKnob, Form, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "netdev-max-backlog",
        title: "Packets that may wait for the protocol work of a CPU",
        docs: "Length of each CPU's queue of packets that came by RPS, loopback or veth. When the second \
               column of /proc/net/softnet_stat grows, packets were dropped because it was full.",
        unit: "packets, at least 1",
        scope: "the whole machine: target machine",
        owner: "systemd-sysctl (sysctl.d), tuned, vendors' tuning scripts",
        owners: &[OwnerId::Tuned],
        risk: "A long queue hides overload: packets are late instead of lost. A short one drops packets of \
               loopback too.",
        may_set: MaySet::Root,
        source: "Documentation/admin-guide/sysctl/net.rst",
    },
    places: Places::Machine("/proc/sys/net/core/netdev_max_backlog"),
    form: Form::Number { least: Bound::Is(1), most: Bound::Is(2147483647), words: &[] },
};
