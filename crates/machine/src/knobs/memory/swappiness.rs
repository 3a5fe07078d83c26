//! How readily memory of programs is swapped out.

use crate::knobs::file::{Bound, FileKnob, Form, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "swappiness",
        title: "How readily memory of programs is swapped out",
        docs: "What reclaim costs on either side: 100 takes program memory and file cache alike, 0 leaves \
               program memory alone until there is nothing else. Servers that must not stall on swap use 1 \
               to 10.",
        unit: "0 to 200 (to 100 before Linux 5.8)",
        scope: "the whole machine: target machine",
        owner: "systemd-sysctl (sysctl.d), tuned (throughput-performance: 10), zram-generator guides \
                (180); cgroups of version 1 have their own memory.swappiness",
        owners: &[OwnerId::Tuned],
        risk: "A low value pushes the file cache out instead, which costs reads from disk; with no swap it \
               does nothing.",
        may_set: MaySet::Root,
        source: "Documentation/admin-guide/sysctl/vm.rst (swappiness)",
    },
    places: Places::Machine("/proc/sys/vm/swappiness"),
    form: Form::Number { least: Bound::Is(0), most: Bound::Is(200), words: &[] },
};
