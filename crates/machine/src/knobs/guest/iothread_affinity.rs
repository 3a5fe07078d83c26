//! Which CPUs an I/O thread of a guest may run on.

use super::{GuestKnob, Kind};
use crate::knobs::{About, MaySet, OwnerId};

/// The knob.
pub static KNOB: GuestKnob = GuestKnob {
    about: About {
        id: "iothread-affinity",
        title: "Host CPUs that an I/O thread of a guest may run on",
        docs: "An I/O thread serves the virtual disks that name it, polling for a while before it sleeps: it belongs on a CPU \
               of the node of its disk, and not on that of a vCPU. Where libvirt runs the guest, libvirt moves it (virsh \
               iothreadpin), otherwise the thread is moved.",
        unit: "CPU list",
        scope: "one I/O thread: GUEST/iothread/ID (-object iothread,id=ID, of 12 characters at most), or GUEST/iothread for \
                all; GUEST as with vcpu-affinity",
        owner: "libvirt (<iothreadpin>), through which pinwise goes; Proxmox VE (affinity:); OpenStack Nova; numad",
        owners: &[OwnerId::Numad],
        risk: "While it polls (poll-max-ns) it keeps its CPU busy.",
        may_set: MaySet::OwnProcesses,
        source: "virsh(1), iothreadpin; qemu(1), -object iothread; sched_setaffinity(2)",
    },
    kind: Kind::IoThread,
};
