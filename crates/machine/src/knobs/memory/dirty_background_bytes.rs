//! Dirty memory at which writeback begins, in bytes.

use crate::knobs::file::{Bound, FileKnob, Form, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "dirty-background-bytes",
        title: "Dirty memory at which writeback begins, in bytes",
        docs: "As dirty-background-ratio, but the same on every machine whatever its memory: writeback \
               begins early and evenly where memory is large.",
        unit: "bytes, at least 1; reads 0 while dirty-background-ratio is in force",
        scope: "the whole machine: target machine",
        owner: "systemd-sysctl (sysctl.d), tuned ([sysctl] of profiles), database guides",
        owners: &[OwnerId::Tuned],
        risk: "Setting it switches dirty-background-ratio off (it reads 0 then), and 0 cannot be written: \
               undo writes that ratio back.",
        may_set: MaySet::Root,
        source: "Documentation/admin-guide/sysctl/vm.rst (dirty_background_bytes)",
    },
    places: Places::Machine("/proc/sys/vm/dirty_background_bytes"),
    form: Form::Number { least: Bound::Is(1), most: Bound::Is(i64::MAX), words: &[] },
};
