//! Dirty memory at which writeback begins, as a share.

use crate::knobs::file::{Bound, FileKnob, Form, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "dirty-background-ratio",
        title: "Dirty memory at which writeback begins, as a share",
        docs: "From this share of the available memory on the kernel writes dirty pages back in the \
               background. A low one makes many short bursts of disk and kworker, a high one few long \
               ones.",
        unit: "percent of available memory, 0 to 100; 0 while dirty-background-bytes is in force",
        scope: "the whole machine: target machine",
        owner: "systemd-sysctl (sysctl.d), tuned (throughput-performance: 10, latency-performance: 3)",
        owners: &[OwnerId::Tuned],
        risk: "Setting it switches dirty-background-bytes off (it reads 0 then); undo writes that one \
               back. At or above dirty-ratio the kernel takes half of that.",
        may_set: MaySet::Root,
        source: "Documentation/admin-guide/sysctl/vm.rst (dirty_background_ratio)",
    },
    places: Places::Machine("/proc/sys/vm/dirty_background_ratio"),
    form: Form::Number { least: Bound::Is(0), most: Bound::Is(100), words: &[] },
};
