//! How long a read looks at the network card before it sleeps.

use crate::knobs::file::{Bound, FileKnob, Form, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "busy-read",
        title: "How long a read looks at the network card before it sleeps",
        docs: "What new sockets get as SO_BUSY_POLL: a read that finds nothing looks at the card's queue \
               by itself for that long. Lowers latency by some microseconds and burns the CPU while it \
               waits.",
        unit: "us; 0: off. 50 is recommended",
        scope: "the whole machine: target machine",
        owner: "systemd-sysctl (sysctl.d), tuned (profile network-latency sets 50); a program's own \
                SO_BUSY_POLL goes before it",
        owners: &[OwnerId::Tuned],
        risk: "Sockets that are open already keep what they have, so a server has to be restarted. CPU \
               time and power go up.",
        may_set: MaySet::Root,
        source: "Documentation/admin-guide/sysctl/net.rst; socket(7), SO_BUSY_POLL",
    },
    places: Places::Machine("/proc/sys/net/core/busy_read"),
    form: Form::Number { least: Bound::Is(0), most: Bound::Is(2147483647), words: &[] },
};
