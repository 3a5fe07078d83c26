//! Age from which dirty pages are written back.

use crate::knobs::file::{Bound, FileKnob, Form, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "dirty-expire",
        title: "Age from which dirty pages are written back",
        docs: "What has been dirty for longer is written at the next round of dirty-writeback. A short \
               time spreads writing out, a long one saves writes of pages that change again.",
        unit: "centiseconds (hundredths of a second)",
        scope: "the whole machine: target machine",
        owner: "systemd-sysctl (sysctl.d), tuned, laptop-mode-tools, TLP",
        owners: &[OwnerId::Tuned],
        risk: "So much of what was written may be lost when the machine dies.",
        may_set: MaySet::Root,
        source: "Documentation/admin-guide/sysctl/vm.rst (dirty_expire_centisecs)",
    },
    places: Places::Machine("/proc/sys/vm/dirty_expire_centisecs"),
    form: Form::Number { least: Bound::Is(0), most: Bound::Is(2147483647), words: &[] },
};
