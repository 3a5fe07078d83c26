//! How long one round of receive work may take.

use crate::knobs::file::{Bound, FileKnob, Form, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "netdev-budget-us",
        title: "How long one round of receive work may take",
        docs: "The receive softirq stops after that time even when netdev-budget is not used up. A lower \
               value lets a server on the same CPU run sooner, a higher one wastes less on starting over.",
        unit: "us; newer kernels refuse less than two ticks (8000 with HZ=250)",
        scope: "the whole machine: target machine",
        owner: "systemd-sysctl (sysctl.d), tuned",
        owners: &[OwnerId::Tuned],
        risk: "Checked once a device, in ticks of the kernel (1 to 10 ms). A longer round keeps everything \
               else off the CPU.",
        may_set: MaySet::Root,
        source: "Documentation/admin-guide/sysctl/net.rst; net/core/dev.c (net_rx_action)",
    },
    places: Places::Machine("/proc/sys/net/core/netdev_budget_usecs"),
    form: Form::Number { least: Bound::Is(1), most: Bound::Is(2147483647), words: &[] },
};
