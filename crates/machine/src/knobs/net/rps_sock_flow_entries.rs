//! Flows whose reading CPU the network stack remembers.

use crate::knobs::file::{FileKnob, Form, Places};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: FileKnob = FileKnob {
    about: About {
        id: "rps-sock-flow-entries",
        title: "Flows whose reading CPU the network stack remembers",
        docs: "Receive flow steering of the whole machine: the table that says on which CPU a program last \
               read from a flow. As many as connections are expected to be active at once; 32768 suits \
               most servers.",
        unit: "entries: 0 (off) or a power of two",
        scope: "the whole machine: target machine",
        owner: "systemd-sysctl (sysctl.d), tuned, vendors' tuning scripts",
        owners: &[OwnerId::Tuned],
        risk: "A table that is too small mixes flows up, which sends packets to the wrong CPU. Costs 4 \
               bytes an entry.",
        may_set: MaySet::Root,
        source: "Documentation/networking/scaling.rst; Documentation/admin-guide/sysctl/net.rst",
    },
    places: Places::Machine("/proc/sys/net/core/rps_sock_flow_entries"),
    form: Form::PowerOfTwo { most: 1 << 29 },
};
