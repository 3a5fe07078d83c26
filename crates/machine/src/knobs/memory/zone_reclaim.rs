//! Whether a node reclaims its own memory before it takes another's.

use crate::knobs::file::{Bound, FileKnob, Form, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "zone-reclaim",
        title: "Whether a node reclaims its own memory before it takes another's",
        docs: "0 takes memory from another node when the local one is full, 1 first drops local file \
               cache, 2 also writes dirty pages back, 4 also swaps. Good only where everything fits its \
               node.",
        unit: "sum of 1 (reclaim), 2 (write back), 4 (swap); 0: off",
        scope: "the whole machine: target machine",
        owner: "systemd-sysctl (sysctl.d), tuned; old kernels switched it on by themselves where nodes are \
                far",
        owners: &[OwnerId::Tuned],
        risk: "Stalls of many milliseconds in the program that asks for memory; a known trap for databases \
               and file servers.",
        may_set: MaySet::Root,
        source: "Documentation/admin-guide/sysctl/vm.rst (zone_reclaim_mode)",
    },
    places: Places::Machine("/proc/sys/vm/zone_reclaim_mode"),
    form: Form::Number { least: Bound::Is(0), most: Bound::Is(7), words: &[] },
};
