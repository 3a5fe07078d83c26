//! Dirty memory at which a writing program has to wait, as a share.

use crate::knobs::file::{Bound, FileKnob, Form, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "dirty-ratio",
        title: "Dirty memory at which a writing program has to wait, as a share",
        docs: "A program that dirties pages beyond this share of the available memory writes them back \
               itself, and stalls. On machines with much memory dirty-bytes is the finer way.",
        unit: "percent of available memory, 0 to 100; 0 while dirty-bytes is in force",
        scope: "the whole machine: target machine",
        owner: "systemd-sysctl (sysctl.d), tuned (throughput-performance: 40, latency-performance: 10)",
        owners: &[OwnerId::Tuned],
        risk: "Setting it switches dirty-bytes off (it reads 0 then); undo writes that one back. A high \
               share makes rare and long stalls of many seconds.",
        may_set: MaySet::Root,
        source: "Documentation/admin-guide/sysctl/vm.rst (dirty_ratio)",
    },
    places: Places::Machine("/proc/sys/vm/dirty_ratio"),
    form: Form::Number { least: Bound::Is(0), most: Bound::Is(100), words: &[] },
};
