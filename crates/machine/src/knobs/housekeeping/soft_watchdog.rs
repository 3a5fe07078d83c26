//! Detector of soft lockups.

use crate::knobs::file::{FileKnob, ON_OFF, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "soft-watchdog",
        title: "Detector of soft lockups",
        docs: "On, a timer of each watched CPU wakes its migration thread every few seconds, to see \
               whether it still gets to run. Off makes CPUs a little quieter.",
        unit: "on or off",
        scope: "the whole machine: target machine",
        owner: "the boot parameters nowatchdog and nosoftlockup, tuned, systemd-sysctl (sysctl.d)",
        owners: &[OwnerId::Tuned],
        risk: "A thread that never leaves the kernel is not noticed. kernel.watchdog reads on while either \
               detector is on.",
        may_set: MaySet::Root,
        source: "Documentation/admin-guide/sysctl/kernel.rst (soft_watchdog); \
                 Documentation/admin-guide/lockup-watchdogs.rst",
    },
    places: Places::Machine("/proc/sys/kernel/soft_watchdog"),
    form: ON_OFF,
};
