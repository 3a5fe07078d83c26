//! How long a card's packets may be gathered before they go up.

use crate::knobs::file::{Bound, FileKnob, Form, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "gro-flush-timeout",
        title: "How long a card's packets may be gathered before they go up",
        docs: "Together with napi-defer-hard-irqs it lets the card be looked at by a timer instead of an \
               interrupt, while a busy server polls: fewer interrupts under load. By itself it lets GRO \
               put more packets together.",
        unit: "ns; 0: at the end of each round",
        scope: "one network interface: INTERFACE, or NETNS:INTERFACE in a network namespace",
        owner: "tuned, NetworkManager dispatcher scripts, udev rules; a program may set it for one queue \
                by netlink (napi-set) since Linux 6.13",
        owners: &[OwnerId::Tuned],
        risk: "Packets wait up to that long when traffic is thin: latency goes up by it. Gone with the \
               interface.",
        may_set: MaySet::Root,
        source: "Documentation/networking/napi.rst; Documentation/ABI/testing/sysfs-class-net",
    },
    places: Places::EachInterface("gro_flush_timeout"),
    form: Form::Number { least: Bound::Is(0), most: Bound::Is(i64::MAX), words: &[] },
};
