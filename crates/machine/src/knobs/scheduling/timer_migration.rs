//! Whether timers of idle CPUs move to busy ones.

use crate::knobs::file::{FileKnob, ON_OFF, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "timer-migration",
        title: "Whether timers of idle CPUs move to busy ones",
        docs: "On, an idle CPU hands its timers to one that is awake, and sleeps longer. Off, timers stay \
               on the CPU that set them, and no CPU gets those of others.",
        unit: "on or off",
        scope: "the whole machine: target machine",
        owner: "tuned (profiles realtime and cpu-partitioning switch it off), systemd-sysctl (sysctl.d)",
        owners: &[OwnerId::Tuned],
        risk: "Off, idle CPUs wake more often, which costs power. Timers that are set already stay where \
               they are.",
        may_set: MaySet::Root,
        source: "Documentation/admin-guide/sysctl/kernel.rst (timer_migration); kernel/time/timer.c",
    },
    places: Places::Machine("/proc/sys/kernel/timer_migration"),
    form: ON_OFF,
};
