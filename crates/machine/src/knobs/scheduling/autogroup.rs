//! Whether each session competes as one.

use crate::knobs::file::{FileKnob, ON_OFF, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "autogroup",
        title: "Whether each session competes as one",
        docs: "On, all processes of a session (a terminal, a login, a setsid) share one portion of the \
               CPU, and nice counts within it only. Off, each thread competes by itself, and nice counts \
               everywhere.",
        unit: "on or off",
        scope: "the whole machine: target machine",
        owner: "the boot parameter noautogroup, tuned ([sysctl] of profiles), systemd-sysctl (sysctl.d)",
        owners: &[OwnerId::Tuned],
        risk: "Without effect on processes that are in a cgroup of the cpu controller other than the root, \
               as with systemd. Shares shift at once.",
        may_set: MaySet::Root,
        source: "sched(7), The autogroup feature; kernel/sched/autogroup.c",
    },
    places: Places::Machine("/proc/sys/kernel/sched_autogroup_enabled"),
    form: ON_OFF,
};
