//! Empty looks at a card before its interrupt is switched on again.

use crate::knobs::file::{Bound, FileKnob, Form, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "napi-defer-hard-irqs",
        title: "Empty looks at a card before its interrupt is switched on again",
        docs: "After a round of receive work the interrupt stays off for so many more looks, \
               gro-flush-timeout apart. A busy server that polls then gets hardly any interrupt.",
        unit: "looks; 0: at once",
        scope: "one network interface: INTERFACE, or NETNS:INTERFACE in a network namespace",
        owner: "tuned, udev rules; a program may set it for one queue by netlink (napi-set) since Linux \
                6.13",
        owners: &[OwnerId::Tuned],
        risk: "Useless, and by itself harmless, while gro-flush-timeout is 0. The first packet after a \
               pause is late by gro-flush-timeout. Gone with the interface.",
        may_set: MaySet::Root,
        source: "Documentation/networking/napi.rst; Documentation/ABI/testing/sysfs-class-net",
    },
    places: Places::EachInterface("napi_defer_hard_irqs"),
    form: Form::Number { least: Bound::Is(0), most: Bound::Is(2147483647), words: &[] },
};
