//! Detector of hard lockups.

use crate::knobs::file::{FileKnob, ON_OFF, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "nmi-watchdog",
        title: "Detector of hard lockups",
        docs: "On, a counter of each watched CPU raises a non-maskable interrupt every ten seconds or so. \
               Off gives that counter back to perf and the CPUs some quiet.",
        unit: "on or off",
        scope: "the whole machine: target machine",
        owner: "the boot parameter nmi_watchdog=, tuned (profiles realtime and cpu-partitioning), TLP, \
                systemd-sysctl (sysctl.d)",
        owners: &[OwnerId::Tuned],
        risk: "A CPU that hangs with interrupts off is not noticed. Refused (ENOTSUPP) where there is no \
               such counter, as in most guests.",
        may_set: MaySet::Root,
        source: "Documentation/admin-guide/sysctl/kernel.rst (nmi_watchdog); \
                 Documentation/admin-guide/lockup-watchdogs.rst",
    },
    places: Places::Machine("/proc/sys/kernel/nmi_watchdog"),
    form: ON_OFF,
};
