//! Time between two rounds of memory statistics on each CPU.

use crate::knobs::file::{Bound, FileKnob, Form, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "vm-stat-interval",
        title: "Time between two rounds of memory statistics on each CPU",
        docs: "Each CPU that has counted anything folds its counts in by a kworker once in that time, \
               which interrupts what runs there. A long interval makes CPUs quieter.",
        unit: "s, 1 to 2147483",
        scope: "the whole machine: target machine",
        owner: "systemd-sysctl (sysctl.d), tuned (profiles realtime and cpu-partitioning: 10)",
        owners: &[OwnerId::Tuned],
        risk: "Counts in /proc/vmstat and /proc/meminfo are as old as that, and watermarks of reclaim with \
               them.",
        may_set: MaySet::Root,
        source: "Documentation/admin-guide/sysctl/vm.rst (stat_interval)",
    },
    places: Places::Machine("/proc/sys/vm/stat_interval"),
    form: Form::Number { least: Bound::Is(1), most: Bound::Is(2147483), words: &[] },
};
