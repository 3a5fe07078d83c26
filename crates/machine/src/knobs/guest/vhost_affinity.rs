//! Which CPUs a vhost thread of a guest may run on.

use super::{GuestKnob, Kind};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: GuestKnob = GuestKnob {
    about: About {
        id: "vhost-affinity",
        title: "Host CPUs that a vhost thread of a guest may run on",
        docs: "The kernel moves packets between a virtual network card (vhost-net) and the host in threads of its own, one for \
               each pair of queues: near the card's interrupts, and not on the CPU of a vCPU, they do it best. Since Linux \
               6.4 they are threads of the guest's process, before that processes of the kernel of the name vhost-PID.",
        unit: "CPU list",
        scope: "one vhost thread: GUEST/vhost/NUMBER, from 0 in the order in which they were started, or GUEST/vhost for all; \
                GUEST as with vcpu-affinity",
        owner: "libvirt, which keeps them in the cgroup of the emulator: emulator-affinity moves them too, and bounds them; \
                tuned; OpenStack Nova",
        owners: &[OwnerId::Libvirtd, OwnerId::Virtqemud, OwnerId::Tuned],
        risk: "A card that is plugged in later has other threads. In a guest of libvirt's only CPUs of emulator-affinity can \
               be named.",
        may_set: MaySet::OwnProcesses,
        source: "drivers/vhost/vhost.c; kernel/vhost_task.c; sched_setaffinity(2)",
    },
    kind: Kind::Vhost,
};
