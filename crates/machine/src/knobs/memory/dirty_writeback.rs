//! Time between two rounds of writeback.

use crate::knobs::file::{Bound, FileKnob, Form, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "dirty-writeback",
        title: "Time between two rounds of writeback",
        docs: "How often the kernel's writeback threads wake to look for pages older than dirty-expire. A \
               long time makes CPUs quieter and bursts larger.",
        unit: "centiseconds (hundredths of a second); 0: no rounds",
        scope: "the whole machine: target machine",
        owner: "systemd-sysctl (sysctl.d), tuned, laptop-mode-tools, TLP, powertop --auto-tune (1500)",
        owners: &[OwnerId::Tuned],
        risk: "With 0 old pages are written only when memory runs short or somebody syncs: they may be \
               lost when the machine dies.",
        may_set: MaySet::Root,
        source: "Documentation/admin-guide/sysctl/vm.rst (dirty_writeback_centisecs)",
    },
    places: Places::Machine("/proc/sys/vm/dirty_writeback_centisecs"),
    form: Form::Number { least: Bound::Is(0), most: Bound::Is(2147483647), words: &[] },
};
