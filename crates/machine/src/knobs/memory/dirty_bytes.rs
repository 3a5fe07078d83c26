//! Dirty memory at which a writing program has to wait, in bytes.

use crate::knobs::file::{Bound, FileKnob, Form, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "dirty-bytes",
        title: "Dirty memory at which a writing program has to wait, in bytes",
        docs: "As dirty-ratio, but the same on every machine whatever its memory. Bounds how much has to \
               be written when a program at last stalls or syncs.",
        unit: "bytes, at least two pages; reads 0 while dirty-ratio is in force",
        scope: "the whole machine: target machine",
        owner: "systemd-sysctl (sysctl.d), tuned ([sysctl] of profiles), database guides",
        owners: &[OwnerId::Tuned],
        risk: "Setting it switches dirty-ratio off (it reads 0 then), and 0 cannot be written: undo writes \
               dirty-ratio back.",
        may_set: MaySet::Root,
        source: "Documentation/admin-guide/sysctl/vm.rst (dirty_bytes)",
    },
    places: Places::Machine("/proc/sys/vm/dirty_bytes"),
    form: Form::Number { least: Bound::Is(8192), most: Bound::Is(i64::MAX), words: &[] },
};
